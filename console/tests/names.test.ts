import { describe, expect, test } from "vitest";
import { quoteObject, readCheck, readObject, readSubject, writeWarrant } from "../src/names";

const UNUSUAL = "$(a,b);~!&|c@d.e{}:%";

describe("written forms", () => {
  test("an id has no need of quotes, whatever it contains", () => {
    const text = `document:${UNUSUAL}#viewer@user:${UNUSUAL}#member`;
    const check = readCheck(text);

    expect(check).toEqual({
      objectType: "document",
      objectId: UNUSUAL,
      relation: "viewer",
      subject: { objectType: "user", objectId: UNUSUAL, relation: "member" },
    });
    expect(check && writeWarrant(check)).toBe(text);
  });

  test("an id in quotes is the same without them", () => {
    expect(readObject('route:"/a,b"')).toEqual({ objectType: "route", objectId: "/a,b" });
    expect(readSubject('team:"a,b"#member')).toEqual({ objectType: "team", objectId: "a,b", relation: "member" });
    expect(readCheck('route:"/a,b"#viewer@user:"a,b"')).toEqual(readCheck("route:/a,b#viewer@user:a,b"));
  });

  test.each(["document", 'document:"a', 'document:a"b"', "document:a[b]", "document:", "#viewer"])("%s is no object", (text) => {
    expect(readObject(text)).toBeUndefined();
  });

  test("in a query, an id with a comma is quoted", () => {
    expect(quoteObject({ objectType: "route", objectId: "/a,b" })).toBe('route:"/a,b"');
    expect(quoteObject({ objectType: "route", objectId: "/a" })).toBe("route:/a");
  });
});
