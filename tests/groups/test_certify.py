"""Which variants count, what is asked when, and how wrong variants bound a score."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwaver.answers.table import table_of
from unwaver.groups import is_plain
from unwaver.groups.certify import Reading, counted, in_play, needed, reading_of, standings, verdict
from unwaver.metrics.score import _bounded
from unwaver.types import Answer, Group, Item, Score, replace

NLI = ("entailment", "neutral", "contradiction")


def answered(label, *probs):
    return Reading("answered", label, list(probs) or None)


YES, NO = answered("entailment"), answered("neutral")
FAILED, UNREADABLE = Reading("failed"), Reading("unreadable")


def judged_group(candidates=3, keep=2, kind="fooling", both=True, measured=False):
    """g/0 is the original; g/n has the judges g/n/forward and g/n/back, and perhaps one that only measures."""
    items = [Item("g/0", "snli", "original", {"hypothesis": "a"}, NLI, ("entailment",))]
    for n in range(1, candidates + 1):
        items.append(Item(f"g/{n}", "snli", "variant", {"hypothesis": f"a{n}"}, NLI, ("entailment",)))
        for name in ("forward", "back") if both else ("forward",):
            about = Item(f"g/{n}/{name}", "snli", "judge", {"hypothesis": name}, NLI, ("entailment",))
            items.append(replace(about, judge="self", about=f"g/{n}"))
        if measured:
            about = Item(f"g/{n}/embedding", "same_meaning", "judge", {"sentence1": "a"}, ("different", "same"))
            items.append(replace(about, judge="embedding/x", about=f"g/{n}"))
    return Group("g", "s", "snli", kind, "same", tuple(items), keep=keep)


def reads(**told):
    """reads(g0=YES, g1_forward=NO): the rest has not been asked."""
    names = {"g/" + name[1:].replace("_", "/"): reading for name, reading in told.items()}
    return lambda item: names.get(item.id, Reading())


def ids(items):
    return [item.id for item in items]


def both(n, reading):
    return {f"g{n}_forward": reading, f"g{n}_back": reading}


def test_a_fresh_group_asks_for_its_original_alone():
    group = judged_group()
    assert ids(needed(group, reads())) == ["g/0"]
    assert ids(counted(group, reads())) == ["g/0"]


def test_a_wrong_original_asks_nothing_more():
    group = judged_group()
    for original in (NO, UNREADABLE, FAILED):
        read = reads(g0=original, **both(1, YES))
        assert not in_play(group, read)
        assert ids(needed(group, read)) == ids(counted(group, read)) == ["g/0"]


def test_other_kinds_do_not_ask_whether_the_original_is_right():
    group = judged_group(kind="semantic")
    read = reads(g0=NO, **both(1, YES), **both(2, YES))
    assert in_play(group, read)
    assert ids(counted(group, read)) == ["g/0", "g/1", "g/2"]


def test_judges_are_asked_about_as_many_candidates_as_may_be_kept():
    group = judged_group(candidates=4, keep=2)
    first = ["g/1/forward", "g/1/back", "g/2/forward", "g/2/back"]
    assert ids(needed(group, reads(g0=YES))) == ["g/0", *first]
    read = reads(g0=YES, **both(1, YES), **both(2, NO))
    assert standings(group, read) == {"g/1": "kept", "g/2": "rejected", "g/3": "open", "g/4": "spare"}
    assert ids(needed(group, read)) == ["g/0", "g/1", *first, "g/3/forward", "g/3/back"]


def test_the_first_k_certified_are_kept_and_the_rest_never_asked():
    group = judged_group(candidates=4, keep=2)
    read = reads(g0=YES, **both(1, YES), **both(2, NO), **both(3, YES))
    assert standings(group, read) == {"g/1": "kept", "g/2": "rejected", "g/3": "kept", "g/4": "spare"}
    assert ids(counted(group, read)) == ["g/0", "g/1", "g/3"]
    assert "g/4/forward" not in ids(needed(group, read))
    assert not {"g/2", "g/4"} & set(ids(needed(group, read)))


def test_one_judge_that_says_no_is_enough():
    group = judged_group(candidates=1, keep=1)
    for told in ({"g1_forward": NO}, {"g1_forward": YES, "g1_back": NO}, {"g1_forward": FAILED, "g1_back": NO}):
        assert standings(group, reads(g0=YES, **told)) == {"g/1": "rejected"}
    assert standings(group, reads(g0=YES, g1_forward=YES)) == {"g/1": "open"}
    assert standings(group, reads(g0=YES, **both(1, UNREADABLE))) == {"g/1": "rejected"}, "no yes was read"


def test_an_open_candidate_holds_its_place():
    """The second is certified already, by the same question about another group: the first is asked all the same."""
    group = judged_group(candidates=2, keep=1)
    read = reads(g0=YES, **both(2, YES))
    assert standings(group, read) == {"g/1": "open", "g/2": "spare"}
    assert ids(needed(group, read)) == ["g/0", "g/1/forward", "g/1/back"]
    read = reads(g0=YES, **both(1, NO), **both(2, YES))
    assert standings(group, read) == {"g/1": "rejected", "g/2": "kept"}


def test_a_person_overrules_nobody_but_removes():
    group = judged_group(candidates=2, keep=None, kind="semantic")
    items = tuple(replace(i, certified=False) if i.id == "g/1" else i for i in group.items)
    read = reads(**both(1, YES), **both(2, YES))
    assert standings(replace(group, items=items), read) == {"g/1": "rejected", "g/2": "kept"}
    assert not {"g/1", "g/1/forward", "g/1/back"} & set(ids(needed(replace(group, items=items), read)))


def test_what_only_measures_is_asked_of_what_is_kept_and_decides_nothing():
    group = judged_group(candidates=2, keep=None, measured=True)
    assert "g/1/embedding" not in ids(needed(group, reads(g0=YES)))
    read = reads(g0=YES, **both(1, YES), **both(2, NO))
    assert standings(group, read) == {"g/1": "kept", "g/2": "rejected"}
    assert "g/1/embedding" in ids(needed(group, read))
    assert "g/2/embedding" not in ids(needed(group, read))
    read = reads(g0=YES, **both(1, YES), g1_embedding=FAILED)
    assert standings(group, read)["g/1"] == "kept"


def test_plain_groups_are_untouched():
    items = (
        Item("p/0", "snli", "original", {"hypothesis": "a"}, NLI, ("entailment",)),
        Item("p/1", "snli", "variant", {"hypothesis": "b"}, NLI, ("entailment",)),
    )
    group = Group("p", "s", "snli", "semantic", "same", items)
    assert is_plain(group)
    assert counted(group, reads()) == needed(group, reads()) == list(items)
    assert not is_plain(replace(group, keep=1))
    assert not is_plain(replace(group, kind="fooling"))


def test_keep_without_judges_takes_the_first():
    items = tuple(item for item in judged_group(candidates=3, keep=2).items if item.role != "judge")
    group = replace(judged_group(), items=items, kind="semantic")
    assert ids(needed(group, reads())) == ["g/0", "g/1", "g/2"]


@pytest.mark.parametrize(
    ("reading", "at_least", "expected"),
    [
        (answered("entailment", 0.6, 0.3, 0.1), 0.0, True),
        (answered("neutral", 0.3, 0.6, 0.1), 0.0, False),
        (answered("entailment", 0.6, 0.3, 0.1), 0.8, False),
        (answered("entailment", 0.8, 0.1, 0.1), 0.8, True),
        (answered("neutral", 0.4, 0.6, 0.0), 0.3, True),  # with a bar the probability decides
        (answered("entailment"), 0.8, True),  # there is none: the label does
        (UNREADABLE, 0.0, False),
        (FAILED, 0.0, None),
        (Reading(), 0.5, None),
    ],
)
def test_verdicts(reading, at_least, expected):
    judge = Item("j", "snli", "judge", {}, NLI, ("entailment",), judge="self", at_least=at_least)
    assert verdict(judge, reading).accepted is expected


def test_two_accepted_labels_add_up():
    judge = Item("j", "snli", "judge", {}, NLI, ("entailment", "neutral"), judge="self", at_least=0.5)
    assert verdict(judge, answered("contradiction", 0.3, 0.3, 0.4)) == (True, 0.6, "answered")


STATUS = st.sampled_from([YES, NO, FAILED, UNREADABLE, Reading()])


@given(st.lists(st.tuples(STATUS, STATUS), max_size=6), st.one_of(st.none(), st.integers(1, 4)))
def test_standings_in_general(told, keep):
    group = judged_group(candidates=len(told), keep=keep)
    answers = {
        f"g{n}_{name}": r
        for n, pair in enumerate(told, 1)
        for name, r in zip(("forward", "back"), pair, strict=True)
    }
    read = reads(g0=YES, **answers)
    found = standings(group, read)
    assert list(found) == [f"g/{n}" for n in range(1, len(told) + 1)]
    places = [s for s in found.values() if s in ("kept", "open")]
    assert keep is None or len(places) <= keep
    asked = set(ids(needed(group, read)))
    for name, standing in found.items():
        assert (name in asked) == (standing == "kept")
        assert (f"{name}/back" in asked) == (standing != "spare")
    assert ids(counted(group, read)) == ["g/0", *(n for n, s in found.items() if s in ("kept", "open"))]


@given(st.lists(st.booleans(), max_size=7), st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_order_in_which_answers_arrive_does_not_matter(good, keep, random):
    """Asked round by round, a few at a time, the first k that are good are kept, and the same is asked in the end."""
    group = judged_group(candidates=len(good), keep=keep)
    truth = {"g/0": YES}
    for n, is_good in enumerate(good, 1):
        forward, back = random.sample([YES if is_good else NO, YES], 2)
        truth |= {f"g/{n}/forward": forward, f"g/{n}/back": back, f"g/{n}": NO}
    known = {id: r for id, r in truth.items() if random.random() < 0.3}  # some were asked in another run

    def read(item):
        return known.get(item.id, Reading())

    while missing := [id for id in ids(needed(group, read)) if id not in known]:
        for id in random.sample(missing, random.randint(1, len(missing))):
            known[id] = truth[id]
    expected = [f"g/{n}" for n, is_good in enumerate(good, 1) if is_good][:keep]
    assert [id for id, s in standings(group, read).items() if s == "kept"] == expected
    assert "open" not in standings(group, read).values()
    assert ids(needed(group, read)) == ids(needed(group, lambda item: truth[item.id]))


# --- in the table -------------------------------------------------------------------------------------------


def rows(group, **told):
    answers = {("g/" + name[1:].replace("_", "/"), 0): answer for name, answer in told.items()}
    frame = table_of([group], answers, {}, model="m", method="x")
    return dict(zip(frame["item"], frame["status"], strict=True))


SAYS_YES, SAYS_NO, FAILS = Answer(text="entailment"), Answer(text="neutral"), Answer(error="no luck")


def test_a_failed_judge_makes_the_group_fail():
    group = judged_group(candidates=2, keep=1)
    told = {"g0": SAYS_YES, "g1_forward": SAYS_YES, "g1_back": FAILS}
    assert rows(group, **told) == {"g/0": "answered", "g/1": "failed"}
    assert rows(group, g0=SAYS_YES, g1_forward=SAYS_YES) == {"g/0": "answered", "g/1": "not_asked"}
    told |= {"g1_forward": SAYS_NO, "g2_forward": SAYS_YES, "g2_back": SAYS_YES, "g2": SAYS_NO}
    assert rows(group, **told) == {"g/0": "answered", "g/2": "answered"}, "another judge has refused it"


def test_reading_of_what_was_asked_stays():
    group = judged_group(candidates=1, keep=1)
    read = reads(g0=YES, g1=NO, **both(1, YES))
    assert reading_of(group, group.items[1], read) == NO
    assert reading_of(group, group.items[0], read) == YES


# --- bounds -------------------------------------------------------------------------------------------------


def bounded(value, epsilon, any_of=1):
    zeros = dict.fromkeys(("groups", "counted", "not_applicable", "unreadable", "failed", "not_asked"), 0)
    score = Score(
        "s", "t", "k", "tau", value, None, None, **zeros, truncated=0, accuracy=None, model="m", method="x"
    )
    found = _bounded(score, any_of, epsilon)
    return found.bound_low, found.bound_high, found.epsilon


def test_bounds_by_hand():
    assert bounded(0.2, 0.1) == (pytest.approx(0.1 / 0.9), pytest.approx(0.2 / 0.9), 0.1)
    wrong = 1 - 0.9**3
    low, high, epsilon = bounded(0.6, 0.1, any_of=3)
    assert (low, high, epsilon) == (
        pytest.approx((0.6 - wrong) / (1 - wrong)),
        pytest.approx(0.6 / (1 - wrong)),
        0.1,
    )
    assert bounded(0.05, 0.1)[0] == 0.0
    assert bounded(0.95, 0.1)[1] == 1.0
    assert bounded(0.3, 0.0) == (0.3, 0.3, 0.0)
    assert bounded(0.3, 1.0) == (0.0, 1.0, 1.0)
    assert bounded(None, 0.1) == bounded(0.2, None) == bounded(0.2, 0.1, any_of=0) == (None, None, None)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=40),
    st.lists(st.floats(0, 1), max_size=20),
    st.floats(0, 0.3),
)
def test_the_value_on_the_right_variants_lies_between_the_bounds(right, wrong, slack):
    """Plant wrong groups with whatever values: an epsilon that is at least their share holds the truth."""
    share = len(wrong) / (len(right) + len(wrong))
    mixed = (sum(right) + sum(wrong)) / (len(right) + len(wrong))
    epsilon = min(share + slack, 0.999)
    low, high, _ = bounded(mixed, epsilon)
    assert 0 <= low <= high <= 1
    assert low - 1e-9 <= sum(right) / len(right) <= high + 1e-9


@given(
    st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=3), min_size=1, max_size=30)
)
def test_bounds_of_any_of_three(groups):
    """Each variant is (changes the answer, is wrong): at least one wrong variant makes a wrong group."""
    right = [group for group in groups if not any(wrong for _, wrong in group)]
    if not right:
        return
    share = 1 - len(right) / len(groups)
    epsilon = 1 - (1 - share) ** (1 / 3)
    value = sum(any(changes for changes, _ in group) for group in groups) / len(groups)
    truth = sum(any(changes for changes, _ in group) for group in right) / len(right)
    low, high, _ = bounded(value, epsilon, any_of=3)
    assert low - 1e-9 <= truth <= high + 1e-9
