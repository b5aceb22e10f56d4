"""Random denials: no sentence about one says that something holds which does not, or the other way round."""

from hypothesis import given
from msgspec.structs import replace

from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.warrant import WarrantNames
from tests.properties.denial_sentences import require_true
from tests.properties.explanations import NOW, Case, cases, explanation_of, in_force
from tests.properties.models import oracle_value


@given(cases)
def test_no_sentence_of_a_denial_says_what_is_not_so(case: Case) -> None:
    drawn, stored, asked = case
    explanation = explanation_of(drawn, stored, asked)

    def decide(names: WarrantNames) -> bool:
        subject = names.subject
        object_ref = ObjectRef(names.object_type, names.object_id)
        one = replace(asked, object=object_ref, relation=names.relation, subject=subject)
        return oracle_value(drawn, in_force(stored), one) == TRUE

    if not explanation.is_allowed:
        require_true(explanation, stored, NOW, decide)
