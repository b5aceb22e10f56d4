/** Holds rows that are requested while they are read. */

/** Each loop over it begins anew. */
export class Rows<Row> implements AsyncIterable<Row> {
  readonly #begin: () => AsyncGenerator<Row, void, undefined>;

  constructor(begin: () => AsyncGenerator<Row, void, undefined>) {
    this.#begin = begin;
  }

  [Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    return this.#begin();
  }

  /** Returns all rows. */
  async toArray(): Promise<Row[]> {
    const rows: Row[] = [];
    for await (const row of this) rows.push(row);
    return rows;
  }
}
