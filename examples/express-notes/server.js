/** Notes that their owners share: who may do what with a note is decided by Magistrate, and stored nowhere else. */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { Client } from "@magistrate/client";
import { require } from "@magistrate/client/express";
import express from "express";

const client = new Client(); // MAGISTRATE_URL and MAGISTRATE_API_KEY say where the service is
await client.writeModel(readFileSync(new URL("model.txt", import.meta.url), "utf8"));

/** @type {Map<string, string>} Texts by the ids of notes, for as long as the process lives. */
const notes = new Map();

/** Says who sent a request. Your login does this; a header that anybody can send does not. */
function subject(request) {
  const name = request.get("X-User");
  return name === undefined ? undefined : { objectType: "user", objectId: name };
}

/** Lets only those pass who are logged in. */
function requireUser(request, response, next) {
  if (subject(request) === undefined) response.status(401).json({ message: "Log in first." });
  else next();
}

const app = express();
app.use(express.json());

app.post("/notes", requireUser, async (request, response) => {
  const id = request.body.id ?? randomUUID();
  if (notes.has(id)) return response.status(409).json({ message: "There is such a note." });
  await client.write({ create: [{ object: `note:${id}`, relation: "owner", subject: subject(request) }] });
  notes.set(id, request.body.text);
  response.status(201).json({ id });
});

app.get("/notes", requireUser, async (request, response) => {
  const found = await client.objects(subject(request), "viewer", "note").toArray();
  response.json(found.map((note) => note.slice("note:".length)));
});

app.get("/notes/:id", require("viewer", "note:{id}", { subject, client }), (request, response) => {
  response.json({ text: notes.get(request.params.id) });
});

app.put("/notes/:id/viewers/:name", require("owner", "note:{id}", { subject, client }), async (request, response) => {
  await client.write({ create: [viewer(request)] });
  response.json({});
});

app.delete("/notes/:id/viewers/:name", require("owner", "note:{id}", { subject, client }), async (request, response) => {
  await client.write({ delete: [viewer(request)] });
  response.json({});
});

function viewer({ params: { id, name } }) {
  const note = { objectType: "note", objectId: id };
  return { object: note, relation: "viewer", subject: { objectType: "user", objectId: name } };
}

app.use((error, request, response, next) => {
  console.error(error.name, error.message);
  response.status(error.status === 404 ? 404 : 500).json({ message: "It did not work." });
});

const server = app.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`);
});
