/** Has the operators of rules by their keyword. `./run docs` writes this file from those of the service. */

export interface Operator {
  /** Begins a group of rules in the text of a model. */
  text: string;
  /** Stands above the rules. */
  phrase: string;
  /** Whether every rule has to hold, or none of them. */
  requires: "all" | "none" | "other";
}

export const OPERATORS: Record<string, Operator> = {
  anyOf: { text: "any_of", phrase: "one of these", requires: "other" },
  allOf: { text: "all_of", phrase: "all of these", requires: "all" },
  noneOf: { text: "none_of", phrase: "none of these", requires: "none" },
};
