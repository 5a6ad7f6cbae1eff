"""What a head does is said only of one head."""

import numpy as np

from demo.plots.roles import role_of, said_role
from demo.plots.view import view_of
from models.explain.head_roles import PREVIOUS, ROLES
from models.outputs import HeadRole
from tests.plots.made_up import attention_over, tokens_of


def test_a_head_that_looks_back_is_named_and_a_mean_is_not() -> None:
    attention = attention_over(tokens_of("[CLS] one two three four five [SEP]"))
    attention.weights[1, 2] = 0.01
    attention.weights[1, 2][np.arange(1, 7), np.arange(6)] = 0.94
    role = role_of(view_of({"encoder": attention}, layer=1, head=2))
    assert role is not None and (role.layer, role.head, role.role) == (1, 2, PREVIOUS)
    assert "94\u202f% of its weight goes to the token just before" in said_role(role)
    assert role_of(view_of({"encoder": attention}, layer=1)) is None
    assert "Choose one head" in said_role(None)


def test_every_role_has_its_sentence() -> None:
    said = {said_role(HeadRole(0, 0, role, 0.6)) for role in ROLES}
    assert len(said) == len(ROLES)
    assert all("60\u202f%" in sentence for sentence in said)
