import { useState } from "preact/hooks";
import { Refused, write } from "../api";
import { Fault } from "../parts/notice";
import { Secret } from "../parts/secret";
import * as words from "../words";

interface Session {
  user: string;
  token: string;
}

const LENGTHS = { "900": words.sessions.aQuarter, "3600": words.keys.anHour, "86400": words.keys.aDay };

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
        <Secret what={words.sessions.of(session.user)} text={session.token} onClose={() => setSession(undefined)} />
      )}
      {fault && <Fault fault={fault} />}
      <form class="card" onSubmit={create} onInput={() => setFault(undefined)}>
        <h2>{words.sessions.create}</h2>
        <p>
          {words.sessions.advice}
        </p>
        <div class="filters">
          <div class="field">
            <label for="session-user">{words.sessions.user}</label>
            <input
              id="session-user"
              type="text"
              required
              placeholder={words.sessions.exampleOfUser}
              value={user}
              onInput={(event) => setUser(event.currentTarget.value)}
            />
          </div>
          <div class="field">
            <label for="session-length">{words.sessions.validFor}</label>
            <select id="session-length" value={seconds} onChange={(event) => setSeconds(event.currentTarget.value)}>
              {Object.entries(LENGTHS).map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </select>
          </div>
          <button type="submit" class="primary">
            {words.actions.create}
          </button>
        </div>
      </form>
    </>
  );
}
