import { describe, expect, test } from "vitest";
import { describeEffects, describePolicy, listRequirements, sayRelation, type Explanation, type Node, type Suggestion } from "../src/explanation";
import { readCheck, type Warrant } from "../src/names";

function warrant(text: string): Warrant {
  const read = readCheck(text);
  if (!read) throw new Error(text);
  return read;
}

const NO_EFFECTS = { gained: 0, lost: 0, complete: true };

function creation(...texts: string[]): Suggestion {
  return { create: texts.map(warrant), delete: [], context: { missing: [] }, effects: NO_EFFECTS, note: "" };
}

function deletion(text: string, effects = NO_EFFECTS): Suggestion {
  return { create: [], delete: [warrant(text)], context: { missing: [] }, effects, note: "" };
}

function denied(because: Node, ...wouldAllow: Suggestion[]): Explanation {
  return { decision: "denied", check: because.check ?? "", because, wouldAllow, unknown: [] };
}

const READ = "document:plan#can-read@user:kim";
const VIEWER = "document:plan#viewer@user:kim";
const BLOCKED = "document:plan#blocked@user:kim";
const EDITOR = "document:plan#editor@user:kim";
const FOLDER = "folder:f#viewer@user:kim";

describe("the requirements of a denied check", () => {
  test("are those of allOf: the met one with its path, the excluded one with the deletion", () => {
    const met: Node = { check: VIEWER, holds: true, via: warrant(VIEWER) };
    const excluded: Node = { rule: "noneOf", holds: false, children: [{ check: BLOCKED, holds: true, via: warrant(BLOCKED) }] };
    const root: Node = { check: READ, holds: false, children: [{ rule: "allOf", holds: false, children: [met, excluded] }] };

    const [first, second] = listRequirements(denied(root, deletion(BLOCKED)));

    expect(first).toMatchObject({ kind: "met", sentence: "user:kim is viewer of document:plan, as can-read requires." });
    expect(first?.links.map((one) => one.state)).toEqual(["counts"]);
    expect(second).toMatchObject({ kind: "excluded", sentence: "user:kim is blocked on document:plan, which rules out can-read." });
    expect(second?.suggestion).toEqual(deletion(BLOCKED));
  });

  test("name every branch that failed, with the change that would make it hold", () => {
    const parent = warrant("document:plan#parent@folder:f");
    const root: Node = {
      check: VIEWER,
      holds: false,
      children: [
        { check: EDITOR, holds: false },
        { check: FOLDER, holds: false, via: parent },
        { check: "document:plan#owner@user:kim", holds: false },
      ],
    };

    const [only, ...others] = listRequirements(denied(root, creation(FOLDER), creation(EDITOR)));

    expect(others).toEqual([]);
    expect(only).toMatchObject({ kind: "missing", suggestion: creation(FOLDER), hidden: 0 });
    expect(only?.links.map((one) => one.state)).toEqual(["missing", "counts"]);
    expect(only?.branches).toEqual([
      { sentence: "user:kim is not editor of document:plan.", suggestion: creation(EDITOR) },
      { sentence: "user:kim is not owner of document:plan.", suggestion: undefined },
    ]);
  });

  test("say how many branches the explanation left out", () => {
    const root: Node = { check: VIEWER, holds: false, cut: 3, children: [{ check: EDITOR, holds: false, cut: 2 }] };

    expect(listRequirements(denied(root))[0]?.hidden).toBe(5);
  });

  test("are unknown where a policy cannot be evaluated", () => {
    const policy = { text: 'network == "office"', holds: "unknown" as const, missing: ["network"] };
    const root: Node = { check: VIEWER, holds: "unknown", children: [{ check: VIEWER, holds: "unknown", via: warrant(VIEWER), policy }] };
    const example: Suggestion = { create: [], delete: [], context: { missing: ["network"], example: { network: "office" } }, effects: NO_EFFECTS, note: "" };

    const [only] = listRequirements(denied(root, example));

    expect(only).toMatchObject({ kind: "undecided", suggestion: example });
    expect(only?.links[0]).toMatchObject({ state: "void", condition: 'if network == "office", but network was not sent' });
  });

  test("say when nothing that is written leads there", () => {
    const [only] = listRequirements(denied({ check: VIEWER, holds: false }));

    expect(only?.sentence).toBe("user:kim is not viewer of document:plan, and nothing that is written leads there.");
  });

  test("show what has expired", () => {
    const via = { ...warrant(VIEWER), expiresAt: "2026-01-01T00:00:00Z" };
    const root: Node = { check: VIEWER, holds: false, children: [{ check: VIEWER, holds: false, via, outOfForce: "expired" }] };

    expect(listRequirements(denied(root))[0]?.links[0]).toMatchObject({ state: "void", condition: "expired at 2026-01-01T00:00:00Z" });
  });

  test("end in one sentence where no rule can hold", () => {
    const root: Node = { check: "", holds: false };

    expect(listRequirements(denied(root))[0]?.sentence).toMatch(/^No rule of this relation can hold here/);
  });
});

test.each([
  [{ text: "a", holds: true as const }, "if a"],
  [{ text: "a", holds: false as const }, "if a, but it does not hold"],
  [{ text: "a", holds: "unknown" as const }, "if a, but it cannot be evaluated"],
  [{ text: "a > 1", holds: false as const, values: { a: 1 } }, "if a > 1, but a is 1"],
  [{ text: "a.b", holds: "unknown" as const, missing: ["b"], long: ["a"] }, "if a.b, but b was not sent and a is what was sent"],
])("a policy is described with what it saw: %j", (policy, words) => {
  expect(describePolicy(policy)).toBe(words);
});

describe("a change that takes access from others", () => {
  const excluded: Node = { rule: "noneOf", holds: false, children: [{ check: BLOCKED, holds: true, via: warrant(BLOCKED) }] };
  const root: Node = { check: READ, holds: false, children: [excluded] };

  test("is not the first to look at while another one takes nothing", () => {
    const harmful = deletion(BLOCKED, { gained: 2, lost: 24, complete: true });

    expect(listRequirements(denied(root, creation(READ), harmful)).map((one) => one.suggestion)).toEqual([undefined]);
    expect(listRequirements(denied(root, harmful)).map((one) => one.suggestion)).toEqual([harmful]);
  });

  test("is not the first to look at while it is not known and another one takes nothing", () => {
    const uncounted = deletion(BLOCKED, { gained: 0, lost: 0, complete: false });

    expect(listRequirements(denied(root, creation(READ), uncounted)).map((one) => one.suggestion)).toEqual([undefined]);
    expect(listRequirements(denied(root, uncounted)).map((one) => one.suggestion)).toEqual([uncounted]);
  });

  test("says how much", () => {
    expect(describeEffects(deletion(BLOCKED, { gained: 1, lost: 1_200, complete: true }))).toBe(
      "Others lose 1,200 permissions and gain 1 permission.",
    );
    expect(describeEffects(deletion(BLOCKED, { gained: 1_000, lost: 0, complete: false }))).toBe(
      "Others gain at least 1,000 permissions.",
    );
    expect(describeEffects(deletion(BLOCKED))).toBe("It has no effect on others.");
    expect(describeEffects(deletion(BLOCKED, { gained: 0, lost: 0, complete: false }))).toBe(
      "Its effect on others is too large to be counted here.",
    );
  });
});

describe("a rule within a rule", () => {
  test.each([
    ["anyOf", "The rule anyOf does not hold; this is the closest it comes:"],
    ["viewer of every folder that is its parent", "The rule viewer of every folder that is its parent does not hold; this is the closest it comes:"],
  ])("that does not hold is not said to hold: %s", (rule, sentence) => {
    const inner: Node = { rule, holds: false, children: [{ check: FOLDER, holds: false, via: warrant("document:plan#parent@folder:f") }] };
    const root: Node = { check: READ, holds: false, children: [{ rule: "allOf", holds: false, children: [inner] }] };

    expect(listRequirements(denied(root)).map((one) => one.sentence)).toEqual([sentence]);
  });

  test("that is a policy is shown with what it came to", () => {
    const policy = { text: "level > 3", holds: false as const, values: { level: 1 } };
    const root: Node = { check: READ, holds: false, children: [{ rule: "policy high", holds: false, policy }] };

    const [only] = listRequirements(denied(root));

    expect(only?.sentence).toBe("The rule policy high does not hold (if level > 3, but level is 1).");
  });
});

describe("a relation", () => {
  test.each([
    ["viewer", "viewer of"],
    ["blocked", "blocked on"],
    ["visible", "visible on"],
    ["can-read", "can-read on"],
  ])("%s has its preposition", (relation, said) => {
    expect(sayRelation(relation)).toBe(said);
  });
});
