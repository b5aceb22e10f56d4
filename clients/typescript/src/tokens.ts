/** Compares the tokens that name revisions (docs/consistency.md#order-of-tokens of Magistrate). */

const KNOWN_VERSIONS = "\x01\x02";

/**
 * Says whether an answer with the token `answered` is later than one with the token `known`. A token has the version of
 * its form in one byte, its store in 8 and the revision in 8; where this cannot be read, the last one counts.
 */
export function isLater(answered: string, known: string): boolean {
  const [one, other] = [decode(answered), decode(known)];
  if (one === undefined || other === undefined || one.store !== other.store) return true;
  return one.revision > other.revision;
}

function decode(token: string): { store: string; revision: string } | undefined {
  if (!/^[\w-]{28}$|^[\w-]{34}$/.test(token)) return undefined;
  const bytes = atob(token.replace(/-/g, "+").replace(/_/g, "/"));
  return KNOWN_VERSIONS.includes(bytes[0]!) ? { store: bytes.slice(1, 9), revision: bytes.slice(9, 17) } : undefined;
}
