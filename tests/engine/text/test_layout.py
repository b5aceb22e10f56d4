"""The usual layout of a text."""

import pytest

from magistrate.engine.text.parser import parse_model
from magistrate.engine.text.rendering import format_model

WRITTEN = """\


version   1.0   // of the language
// people
type   user
///   A boat.
//
type boat
  source   {"dbType": "pg // sql"}   // where it comes from


  relation skipper[user,crew#member,  user : *]//who steers

  relation may_sail  [ ]
  inherit may_sail if relation skipper   // the same line
  inherit skipper if
      any_of
            relation chief   on crew[ crew,boat ]
            // behind on
            relation chief for   all  crew [crew]
        // of any_of
      // of inherit
  // of boat
// at the margin
policy  calm ( wind   integer,days array ) {  wind < 20  } // inline
policy wild() {

        a &&
          b   // }

} //behind
"""

FORMATTED = """\
version 1.0 // of the language

// people
type user

///   A boat.
//
type boat
    source {"dbType": "pg // sql"}   // where it comes from

    relation skipper [user, crew#member, user:*] //who steers

    relation may_sail []
    inherit may_sail if
        relation skipper // the same line
    inherit skipper if
        any_of
            relation chief on crew [crew, boat]
            // behind on
            relation chief for all crew [crew]
        // of any_of
        // of inherit
    // of boat

// at the margin
policy calm(wind integer, days array) {
    wind < 20
} // inline

policy wild() {
    a &&
      b   // }
} //behind
"""


def test_a_text_is_written_in_the_usual_layout() -> None:
    parsed = parse_model(WRITTEN)

    assert parsed.faults == ()
    assert format_model(parsed) == FORMATTED


@pytest.mark.parametrize("text", ["version 0.1\n", "// a\n\nversion 0.3\n\n// b\n"])
def test_short_texts_stay_as_they_are(text: str) -> None:
    assert format_model(parse_model(text)) == text
