"""The kit run over installed libraries: ``python -m benchmarks.survey --output docs/survey.md``."""
