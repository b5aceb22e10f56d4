import { describe, expect, test } from "vitest";
import { writeWithPolicy } from "../src/explanation";
import type { Warrant } from "../src/names";
import { planReversal, writeActions, type Now, type ObjectState, type RevisionEvent } from "../src/revert";

const NOW = Date.parse("2026-06-01T00:00:00Z");
const KIM = viewer("kim");
const ANN = viewer("ann");

function viewer(user: string, expiresAt?: string): Warrant {
  const warrant: Warrant = { objectType: "document", objectId: "a", relation: "viewer", subject: { objectType: "user", objectId: user } };
  return expiresAt ? { ...warrant, expiresAt } : warrant;
}

function folder(meta?: Record<string, unknown>): ObjectState {
  return { objectType: "folder", objectId: "f", ...(meta ? { meta } : {}) };
}

/** Returns what was or is stored. The warrants that name the folder are those that are given. */
function state(warrants: Warrant[] = [], objects: ObjectState[] = [], naming: Warrant[] = []): Now {
  return {
    warrants: new Map(warrants.map((one) => [writeWithPolicy(one), one])),
    objects: new Map(objects.map((one) => [`${one.objectType}:${one.objectId}`, one])),
    naming: new Map([["folder:f", naming.map(writeWithPolicy)]]),
  };
}

function plan(event: Omit<RevisionEvent, "token">, before: Now, now: Now) {
  const { actions, kept } = planReversal({ token: "t", ...event }, before, now, NOW);
  return {
    actions: actions.map(({ verb, what }) => `${verb} ${"warrant" in what ? writeWithPolicy(what.warrant) : what.object.objectId}`),
    kept: kept.map(({ name, reason }) => `${name} ${reason}`),
    body: writeActions(actions, now.naming),
  };
}

describe("warrants", () => {
  test("those that were created are deleted, and those that were deleted are created as they were", () => {
    const ann = viewer("ann", "2999-01-01T00:00:00Z");
    const { actions, body } = plan({ warrants: { created: [KIM], deleted: [ANN] } }, state([ann]), state([KIM]));

    expect(actions).toEqual(["delete document:a#viewer@user:kim", "create document:a#viewer@user:ann"]);
    expect(body.create.warrants).toEqual([ann]);
    expect(body.delete.warrants).toEqual([KIM]);
  });

  test("what others have written since stays", () => {
    const { actions, kept } = plan({ warrants: { created: [KIM], deleted: [ANN] } }, state([ANN]), state([ANN]));

    expect(actions).toEqual([]);
    expect(kept).toEqual(["document:a#viewer@user:kim is deleted already", "document:a#viewer@user:ann exists again"]);
  });

  test("a warrant gets the time limits back that it had", () => {
    const was = viewer("kim", "2027-01-01T00:00:00Z");
    const is = viewer("kim", "2028-01-01T00:00:00Z");

    expect(plan({ warrants: { created: [is] } }, state([was]), state([is])).body.create.warrants).toEqual([was]);
  });

  test("one that would have expired by now is not created", () => {
    const was = viewer("kim", "2026-01-01T00:00:00Z");

    expect(plan({ warrants: { expired: [was] } }, state([was]), state()).actions).toEqual([]);
  });
});

describe("objects", () => {
  test("one that was created is deleted only if nothing else names it", () => {
    const event = { warrants: { created: [KIM] }, objects: { created: [folder()] } };

    expect(plan(event, state(), state([KIM], [folder()], [KIM])).actions).toContain("delete f");
    expect(plan(event, state(), state([KIM], [folder()], [KIM, ANN])).kept).toEqual(["folder:f is named by other warrants now"]);
    expect(plan(event, state(), state([KIM], [folder({ name: "F" })], [KIM])).kept).toEqual(["folder:f was changed since"]);
  });

  test("it stays if a warrant that names it is to stay", () => {
    const now = state([KIM], [folder()], [KIM]);
    const { actions } = planReversal({ token: "t", warrants: { created: [KIM] }, objects: { created: [folder()] } }, state(), now, NOW);

    expect(writeActions(actions.slice(1), now.naming).delete.objects).toEqual([]);
  });

  test("the meta of before comes back, also of one that was deleted", () => {
    const before = state([], [folder({ name: "old" })]);

    expect(plan({ objects: { updated: [folder({ name: "new" })] } }, before, state([], [folder({ name: "new" })])).body.create.objects).toEqual([
      folder({ name: "old" }),
    ]);
    expect(plan({ objects: { deleted: [folder()] } }, before, state()).actions).toEqual(["create f"]);
    expect(plan({ objects: { updated: [folder()] } }, before, state()).kept).toEqual(["folder:f does not exist any more"]);
  });
});
