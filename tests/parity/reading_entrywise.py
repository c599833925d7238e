"""Small configurations of the models whose entries each have an angle of their own."""

from reading_sizes import DECLARED, LONGEST

SECTIONS = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [5, 4, 7]}
HUNYUAN = {**DECLARED, "rope_parameters": SECTIONS}
VJEPA2 = {"hidden_size": 80, "num_attention_heads": 4, "num_hidden_layers": 2, "crop_size": 10, "patch_size": 2, "tubelet_size": 1}
VJEPA2 |= {"pred_hidden_size": 48, "pred_num_attention_heads": 3, "pred_num_hidden_layers": 2, "frames_per_clip": 3}
FOUR = {"rope_type": "dynamic", "factor": 1.0, "alpha": 1000.0, "rope_theta": 10000.0, "mrope_section": [2, 4, 7, 3]}
PUBLISHED = {"alpha": 1000.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
PUBLISHED |= {"type": "xdrope", "xdrope_section": [4, 4, 4, 4]}
OLD = {**DECLARED, "max_position_embeddings": LONGEST, "rope_theta": 10000.0, "rope_scaling": PUBLISHED}
