/** Represents the API keys that the service stores, as it answers them (docs/security.md). */

export interface Key {
  id: string;
  name: string;
  prefix: string;
  scopes: string[];
  objectTypes?: string[];
  createdAt: string;
  createdBy: string;
  lastUsedAt?: string;
  expiresAt?: string;
  previousUntil?: string;
}

export interface IssuedKey extends Key {
  key: string;
}
