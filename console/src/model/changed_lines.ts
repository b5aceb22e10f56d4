/** Compares two texts line by line. */

export interface ChangedLine {
  sign: "+" | "-" | " ";
  text: string;
}

const CONTEXT = 2;
const MOST_CELLS = 4_000_000;

/** Returns the lines that differ, with some around them and an empty one between distant parts; undefined if the texts
 * are too long to compare. */
export function compareLines(before: string, after: string): ChangedLine[] | undefined {
  const [old, young] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < young.length && old[start] === young[start]) start += 1;
  let same = 0;
  while (same < old.length - start && same < young.length - start && old.at(-1 - same) === young.at(-1 - same)) same += 1;
  const middle = align(old.slice(start, old.length - same), young.slice(start, young.length - same));
  if (middle === undefined) return undefined;
  const kept = (text: string): ChangedLine => ({ sign: " ", text });
  return shorten([...old.slice(0, start).map(kept), ...middle, ...old.slice(old.length - same).map(kept)]);
}

/** Returns a shortest way from some lines to others: the longest common subsequence stays. */
function align(old: string[], young: string[]): ChangedLine[] | undefined {
  const width = young.length + 1;
  if ((old.length + 1) * width > MOST_CELLS) return undefined;
  const common = new Uint32Array((old.length + 1) * width);
  const at = (row: number, column: number) => common[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = young.length - 1; column >= 0; column -= 1) {
      const longest = Math.max(at(row + 1, column), at(row, column + 1));
      common[row * width + column] = old[row] === young[column] ? at(row + 1, column + 1) + 1 : longest;
    }
  }
  const lines: ChangedLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length || column < young.length) {
    const [gone, come] = [old[row], young[column]];
    if (gone !== undefined && gone === come) {
      lines.push({ sign: " ", text: gone });
      [row, column] = [row + 1, column + 1];
    } else if (gone !== undefined && (come === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ sign: "-", text: gone });
      row += 1;
    } else {
      lines.push({ sign: "+", text: come ?? "" });
      column += 1;
    }
  }
  return lines;
}

/** Leaves out what is far from every change. */
function shorten(lines: ChangedLine[]): ChangedLine[] {
  const near = new Set<number>();
  for (const [place, { sign }] of lines.entries()) {
    if (sign === " ") continue;
    for (let other = place - CONTEXT; other <= place + CONTEXT; other += 1) near.add(other);
  }
  return lines.flatMap((line, place) => {
    if (near.has(place)) return [line];
    return near.has(place - 1) && lines.slice(place).some((one) => one.sign !== " ") ? [{ sign: " ", text: "" } as const] : [];
  });
}
