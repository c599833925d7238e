"""All that the page says, in English and in Russian; the figures' own labels are in ``ordinate.plots.texts``."""

from __future__ import annotations

from ordinate.claims import Text

TEXTS: dict[str, Text] = {
    "title": Text("Positional representations, live", "Позиционные представления вживую"),
    "intro": Text(
        "Attention by itself sees a set of tokens, not a sequence: where each one stands has to be added. Here are the ways to do "
        "it, "
        "to be moved and looked at. The library computes every figure on this machine; nothing comes from the network.",
        "Внимание само по себе видит множество токенов, а не последовательность: место каждого надо добавить. Здесь собраны "
        "способы "
        "это сделать — их можно двигать и рассматривать. Каждый рисунок считает библиотека на этом компьютере, из сети ничего не "
        "загружается.",
    ),
    # The six sections
    "encoding": Text("Sinusoidal encoding", "Синусоидальное кодирование"),
    "encoding_says": Text(
        "Every position gets a vector of sines and cosines, which is added to the token's. Fast entries tell neighbours apart; "
        "slow "
        "ones say roughly where in the text a token stands. A larger base slows the slow ones further.",
        "Каждая позиция получает вектор из синусов и косинусов, его прибавляют к вектору токена. Быстрые измерения различают "
        "соседей, "
        "медленные говорят, где примерно в тексте стоит токен. Чем больше основание, тем медленнее медленные.",
    ),
    "rotation": Text("Rotation as clock hands", "Поворот как стрелки часов"),
    "rotation_says": Text(
        "RoPE adds nothing: it turns each pair of entries of a query or key by its position times the pair's frequency. The first "
        "pairs "
        "run like second hands, the last ones like hour hands. Shift both tokens: the hands move, the angles between them do not, "
        "and "
        "the score depends on the position through these angles alone.",
        "RoPE ничего не прибавляет: каждая пара измерений запроса или ключа поворачивается на позицию, умноженную на частоту пары. "
        "Первые пары бегут, как секундные стрелки, последние ползут, как часовые. Сдвиньте оба токена: стрелки пойдут, а углы "
        "между "
        "ними — нет, и оценка зависит от позиций только через эти углы.",
    ),
    "rotation_score": Text(
        "m − n = {distance}: the score of q = k = (1, …, 1) / √{width} is the mean cosine of the angles between, **{score}**.",
        "m − n = {distance}: оценка при q = k = (1, …, 1) / √{width} — средний косинус углов между стрелками, **{score}**.",
    ),
    "distance": Text("Score against distance", "Оценка и расстояние"),
    "distance_says": Text(
        "What each scheme does to the score of two tokens that stand a given number of tokens apart. Tables that a model would "
        "learn are "
        "shown with random weights, before any training: look at where they are constant, not at their values.",
        "Что каждая схема делает с оценкой двух токенов, стоящих на данном расстоянии. Таблицы, которые модель выучивает, "
        "показаны со "
        "случайными весами, до обучения: смотрите, где они постоянны, а не на сами значения.",
    ),
    "stretching": Text("Wavelengths under a scaling rule", "Длины волн и правило масштабирования"),
    "stretching_says": Text(
        "Training knew no rule. A pair that without the rule lies above the dotted line never finished a turn in training, so "
        "longer texts bring it to angles that no weight has met. A rule slows pairs down, and its line says in how many tokens a "
        "pair finishes a turn under it: linear slows all alike; NTK the more, the slower they are; dynamic NTK too, and the longer "
        "the text, the more (shown at factor × trained length); YaRN and Llama 3 only those that turned too seldom within the "
        "trained length.",
        "Обучение шло без правила. Пара, которая без правила лежит выше пунктира, за время обучения не сделала и оборота, поэтому "
        "на длинных текстах она приходит к углам, которых веса не видели. Правило замедляет пары, и его линия говорит, за сколько "
        "токенов пара делает оборот с правилом: линейное замедляет все одинаково, NTK — тем сильнее, чем пара медленнее, "
        "динамическое NTK — ещё и тем сильнее, чем длиннее текст (показано при длине, равной множителю, умноженному на длину "
        "обучения), YaRN и Llama 3 — только те, что сделали в пределах длины обучения слишком мало оборотов.",
    ),
    "turned": Text(
        "Without a rule, as in training, {inside} of {pairs} pairs finish a turn within the trained length",
        "Без правила, как при обучении, оборот в пределах длины обучения делают пары: {inside} из {pairs}",
    ),
    "beyond": Text("Beyond the trained length", "За пределами длины обучения"),
    "beyond_says": Text(
        "Small models trained on {length} tokens and tested on more, with the same targets at every length. A flat line "
        "extrapolates. "
        "The band runs from the lowest to the highest of {seeds} models a scheme.",
        "Маленькие модели, обученные на {length} токенах и проверенные на большем числе, цели на всех длинах одни "
        "и те же. Ровная линия — схема экстраполирует. Полоса — от наименьшего до наибольшего; моделей на схему: {seeds}.",
    ),
    "results_own": Text("Results of your own run, read from {path}, made by", "Результаты вашего запуска из {path}, команда"),
    "results_kept": Text(
        "Results that came with the package (run `ordinate compare`, then restart `ordinate notes`, to see your own), made by",
        "Результаты из пакета (чтобы увидеть свои, выполните `ordinate compare` и запустите `ordinate notes` снова), команда",
    ),
    "results_none": Text(
        "This comparison has no task that is tested at several lengths.",
        "В этом сравнении нет задач, которые проверяют на разных длинах.",
    ),
    "results_empty": Text(
        "This comparison has no finite loss for the task, so there is no curve to draw: the run may have been stopped early.",
        "В этом сравнении для задачи нет ни одного конечного значения потерь, и кривых не нарисовать: возможно, запуск прервали.",
    ),
    "words": Text("Three words in another order", "Три слова в другом порядке"),
    "words_says": Text(
        "One attention head with fixed random weights; every word has its own vector, the same wherever it stands. Type three "
        "words and "
        "choose an order. Without positions each word's output only changes its place. A causal mask or positions make it another "
        "vector.",
        "Одна голова внимания с постоянными случайными весами; у каждого слова свой вектор, одинаковый на любом месте. Введите "
        "три слова "
        "и выберите порядок. Без позиций выход каждого слова лишь переходит на другое место. С каузальной маской или с позициями "
        "это "
        "уже другой вектор.",
    ),
    "words_needed": Text("Needed: a word in each of the three fields.", "Нужно слово в каждом из трёх полей."),
    "plain": Text("Without positions", "Без позиций"),
    "causal": Text("Without positions, causal mask", "Без позиций, каузальная маска"),
    "positions": Text("With sinusoidal positions", "С синусоидальными позициями"),
    "same": Text(
        "the same vectors in another order: the largest difference, {difference}, is rounding",
        "те же векторы в другом порядке: наибольшая разность {difference} — это округление",
    ),
    "different": Text(
        "other vectors: the largest difference is {difference}", "другие векторы: наибольшая разность — {difference}"
    ),
    "unmoved": Text("nothing has moved: choose another order", "ничего не сдвинулось: выберите другой порядок"),
    # Controls
    "width": Text("Width d_model", "Ширина d_model"),
    "head_width": Text("Width of a head", "Ширина головы"),
    "base": Text("Base", "Основание"),
    "length": Text("Length, positions", "Длина, позиций"),
    "layout": Text("Layout", "Раскладка"),
    "interleaved": Text("interleaved: sine, cosine, sine, …", "interleaved: синус, косинус, синус, …"),
    "sin_cos": Text("sin_cos: all sines, then all cosines", "sin_cos: все синусы, затем все косинусы"),
    "cos_sin": Text("cos_sin: all cosines, then all sines", "cos_sin: все косинусы, затем все синусы"),
    "pairs_half": Text("half: entry i with i + d/2", "half: измерение i с i + d/2"),
    "pairs_interleaved": Text("interleaved: entry 2i with 2i + 1", "interleaved: измерение 2i с 2i + 1"),
    "query": Text("Query position m", "Позиция запроса m"),
    "key": Text("Key position n", "Позиция ключа n"),
    "shift": Text("Shift both by", "Сдвинуть оба на"),
    "scheme": Text("Scheme", "Схема"),
    "heads": Text("Heads", "Голов"),
    "reach": Text("Distances up to", "Расстояния до"),
    "rule": Text("Scaling rule", "Правило масштабирования"),
    "none": Text("none", "нет"),
    "linear": Text("linear", "линейное"),
    "ntk": Text("NTK", "NTK"),
    "dynamic": Text("dynamic NTK", "динамическое NTK"),
    "yarn": Text("YaRN", "YaRN"),
    "llama3": Text("Llama 3", "Llama 3"),
    "factor": Text("Factor", "Множитель"),
    "trained": Text("Trained length", "Длина обучения"),
    "task": Text("Task", "Задача"),
    "first": Text("First word", "Первое слово"),
    "second": Text("Second word", "Второе слово"),
    "third": Text("Third word", "Третье слово"),
    "order": Text("Order", "Порядок"),
    "word_1": Text("dog", "собака"),
    "word_2": Text("bites", "кусает"),
    "word_3": Text("man", "человека"),
    # The curves
    "text": Text("text: next byte of held-out text", "text: следующий байт нового текста"),
    "shift_task": Text("shift: repeat the token five places back", "shift: повторить токен, стоявший пятью местами раньше"),
    "last": Text("last: read the value written last to a register", "last: прочитать последнее значение регистра"),
    "curves_length": Text("context length in tokens (times the trained length)", "длина контекста в токенах (в длинах обучения)"),
    "curves_loss": Text("loss on the same targets, nats", "потери на одних и тех же целях, наты"),
    "chance": Text("chance", "угадывание"),
    "refused": Text("{scheme}, no rows beyond", "{scheme}, дальше нет строк"),
    "curves_alt": Text("Loss at the longest length: {values}", "Потери на наибольшей длине: {values}"),
    # Claims
    "claims": Text("What the notes say about it, checked", "Что об этом говорят заметки — с проверкой"),
    "claim_note": Text("Said by the note", "Сказано в заметке"),
    "claim_true": Text("What is true", "Что верно на деле"),
    "claim_condition": Text("Condition", "Условие"),
    "claim_remark": Text("Remark", "Замечание"),
    "claim_measured": Text("Measured", "Измерено"),
    "claim_command": Text("In the terminal", "В терминале"),
    # The end
    "notes": Text("The two notes", "Две заметки"),
    "notes_say": Text(
        "This page grew out of two course notes and checks what they say. Its texts, figures and code are its own.",
        "Эта страница выросла из двух учебных заметок и проверяет то, что в них сказано. Тексты, рисунки и код здесь свои.",
    ),
}
# The order of the sections.
SECTIONS = ("encoding", "rotation", "distance", "stretching", "beyond", "words")
# Said of no language: the schemes as their papers write them.
SCHEMES = {
    "rope": "RoPE",
    "sinusoidal": "Sinusoidal",
    "alibi": "ALiBi",
    "t5": "T5",
    "shaw": "Shaw",
    "deberta": "DeBERTa",
    "learned": "Learned",
}
