import { useState } from "preact/hooks";
import { Refused, write } from "../api";
import { Fault } from "../parts/notice";
import { Secret } from "../parts/secret";

interface Session {
  user: string;
  token: string;
}

const LENGTHS = { "900": "15 minutes", "3600": "an hour", "86400": "a day" };

/** Creates tokens with which users check their own access. The service keeps no list of them. */
export function Sessions() {
  const [user, setUser] = useState("");
  const [seconds, setSeconds] = useState("3600");
  const [session, setSession] = useState<Session>();
  const [fault, setFault] = useState<Refused>();

  async function create(event: Event) {
    event.preventDefault();
    setFault(undefined);
    try {
      const body = { type: "sess", userId: user.trim(), ttl: Number(seconds) };
      const { token } = await write<{ token: string }>("v2/sessions", { body });
      setSession({ user: user.trim(), token });
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setFault(refused);
    }
  }

  return (
    <>
      {session && (
        <Secret what={`A session of user:${session.user}`} text={session.token} onClose={() => setSession(undefined)} />
      )}
      {fault && <Fault fault={fault} />}
      <form class="card" onSubmit={create} onInput={() => setFault(undefined)}>
        <h2>New session</h2>
        <p>
          A session is a token with which a user checks their own access, from a browser or an app: it is sent as{" "}
          <code>Authorization: Bearer</code>. The service does not list sessions; <code>magistrate sessions revoke</code> ends
          all of them.
        </p>
        <div class="filters">
          <div class="field">
            <label for="session-user">User</label>
            <input
              id="session-user"
              type="text"
              required
              placeholder="kim"
              value={user}
              onInput={(event) => setUser(event.currentTarget.value)}
            />
          </div>
          <div class="field">
            <label for="session-length">Valid for</label>
            <select id="session-length" value={seconds} onChange={(event) => setSeconds(event.currentTarget.value)}>
              {Object.entries(LENGTHS).map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </select>
          </div>
          <button type="submit" class="primary">
            Create
          </button>
        </div>
      </form>
    </>
  );
}
