/** Answers the checks of a page: those of one tick in one request, each once. */

export interface CheckingClient {
  // Like Client, of whatever model.
  checkMany(checks: readonly never[]): Promise<boolean[]>;
}

interface Entry {
  readonly relation: string;
  readonly object: string;
  readonly listeners: Set<() => void>;
  value: boolean | undefined;
  checkedAt: number;
  /** Says that an answer under way is that of before an invalidation, if it is another number then. */
  generation: number;
  isWaiting: boolean;
}

const MAX_CHECKS = 100; // that a session may send in one request
const MAX_ENTRIES = 1_000; // that no component shows

export class Checks {
  maxAgeMs = 60_000;
  onError: ((error: unknown) => void) | undefined;
  readonly #client: CheckingClient;
  readonly #subject: string | null;
  readonly #entries = new Map<string, Entry>();
  #waiting: Entry[] = [];

  constructor(client: CheckingClient, subject: string | null) {
    this.#client = client;
    this.#subject = subject;
  }

  /** Returns the answer of a check, or undefined as long as there is none. */
  read(relation: string, object: string): boolean | undefined {
    return this.#entries.get(keyOf(relation, object))?.value;
  }

  /** Makes a check unless its answer is known, and calls `listener` whenever the answer changes, until the returned
   * function is called. */
  subscribe(relation: string, object: string, listener: () => void): () => void {
    const entry = this.#find(relation, object);
    entry.listeners.add(listener);
    if (Date.now() - entry.checkedAt >= this.maxAgeMs) this.#await(entry);
    return () => {
      entry.listeners.delete(listener);
      this.#evict();
    };
  }

  /** Makes the checks of an object again, or all. What is shown stays until they are answered. */
  invalidate(object?: string): void {
    for (const [key, entry] of this.#entries) {
      if (object !== undefined && entry.object !== object) continue;
      entry.checkedAt = -Infinity;
      entry.generation += 1;
      if (entry.listeners.size > 0) this.#await(entry);
      else this.#entries.delete(key);
    }
  }

  /** Makes the checks again whose answers are too old. */
  refresh(): void {
    for (const entry of this.#entries.values()) {
      if (entry.listeners.size > 0 && Date.now() - entry.checkedAt >= this.maxAgeMs) this.#await(entry);
    }
  }

  #find(relation: string, object: string): Entry {
    const key = keyOf(relation, object);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const listeners = new Set<() => void>();
      entry = { relation, object, listeners, value: undefined, checkedAt: -Infinity, generation: 0, isWaiting: false };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #await(entry: Entry): void {
    if (entry.isWaiting) return;
    entry.isWaiting = true;
    if (this.#waiting.push(entry) === 1) setTimeout(() => this.#send());
  }

  #send(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let start = 0; start < waiting.length; start += MAX_CHECKS) {
      void this.#check(waiting.slice(start, start + MAX_CHECKS));
    }
  }

  async #check(entries: Entry[]): Promise<void> {
    const generations = entries.map((entry) => {
      entry.isWaiting = false;
      entry.checkedAt = Date.now(); // an answer under way is not asked for again
      return entry.generation;
    });
    let answers: readonly (boolean | undefined)[] = [];
    try {
      const checks = entries.map(({ relation, object }) => [this.#subject, relation, object]);
      answers = await this.#client.checkMany(checks as readonly unknown[] as readonly never[]);
    } catch (error) {
      // What is not known is not allowed; a component that is shown later asks again.
      for (const entry of entries) entry.checkedAt = -Infinity;
      this.onError?.(error);
    }
    entries.forEach((entry, place) => {
      if (entry.generation !== generations[place] || entry.value === answers[place]) return;
      entry.value = answers[place];
      for (const listener of entry.listeners) listener();
    });
  }

  #evict(): void {
    let excess = this.#entries.size - MAX_ENTRIES;
    for (const [key, entry] of this.#entries) {
      if (excess <= 0) return;
      excess -= 1;
      if (entry.listeners.size === 0) this.#entries.delete(key);
    }
  }
}

function keyOf(relation: string, object: string): string {
  return `${relation} ${object}`;
}
