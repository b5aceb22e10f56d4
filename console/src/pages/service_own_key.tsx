import { access, onlyTypes } from "../api";
import { Mark } from "../parts/icons";
import { Table } from "../parts/table";
import { store } from "../route";
import { SCOPES } from "../scopes";

/** Says in words what the key of the session may do. */
export function OwnKey() {
  const key = access.value;
  if (!key) return null;
  return (
    <>
      <p>
        You are signed in with the key <b class="name">{key.name}</b>, for{" "}
        {store === undefined ? "the store that it belongs to" : <>the store <b class="name">{store}</b></>}.{" "}
        {key.scopes.includes("stores") ? "It may use every other store, too." : "It opens no other store."}
      </p>
      <p>
        {onlyTypes.value
          ? `It sees only objects of the types ${onlyTypes.value.join(", ")}, and what concerns all types is closed to it.`
          : "It may use objects of all types."}
      </p>
      <Table label="What your key may do" headings={["Scope", "With it, a key may", "Your key"]}>
        {Object.entries(SCOPES).map(([scope, meaning]) => (
          <tr key={scope}>
            <td>
              <b>{scope}</b>
            </td>
            <td>{meaning === SCOPES.admin ? "do all of this" : meaning}</td>
            <td>{key.scopes.includes(scope) ? <Mark tone="yes">may</Mark> : <Mark tone="no">may not</Mark>}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}
