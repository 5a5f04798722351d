// oidc-provider on a local port, with users who have signed in, for `cargo xtask bench`.
//
// Arguments: the port, the folder for the tokens, the number of access tokens, the number of refresh tokens. The files
// `access` and `refresh` contain the tokens, one a line, before the port answers.
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import Provider from 'oidc-provider';

const [port, folder, accessTokens, refreshTokens] = process.argv.slice(2);
const SCOPE = 'openid offline_access';

// The library's own store keeps only the last thousand objects. This one keeps all of them, at no higher cost.
const things = new Map();
const ofGrant = new Map();

class Memory {
  constructor(model) {
    this.model = model;
  }

  async upsert(id, payload) {
    const key = `${this.model}:${id}`;
    things.set(key, payload);
    if (payload.grantId) {
      const keys = ofGrant.get(payload.grantId) ?? [];
      keys.push(key);
      ofGrant.set(payload.grantId, keys);
    }
  }

  async find(id) {
    return things.get(`${this.model}:${id}`);
  }

  async findByUid(uid) {
    return [...things.values()].find((thing) => thing.uid === uid);
  }

  async findByUserCode(userCode) {
    return [...things.values()].find((thing) => thing.userCode === userCode);
  }

  async consume(id) {
    things.get(`${this.model}:${id}`).consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id) {
    things.delete(`${this.model}:${id}`);
  }

  async revokeByGrantId(grantId) {
    for (const key of ofGrant.get(grantId) ?? []) things.delete(key);
    ofGrant.delete(grantId);
  }
}

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const provider = new Provider(`http://127.0.0.1:${port}`, {
  adapter: Memory,
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'bench', alg: 'ES256', use: 'sig' }] },
  cookies: { keys: ['a cookie of the bench is worth nothing'] },
  clients: [
    {
      client_id: 'bench',
      client_secret: 'a-secret-that-only-the-bench-knows-0001',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: ['https://bench.example/callback'],
      // A refresh then signs one token, with the same algorithm as the product.
      id_token_signed_response_alg: 'ES256',
    },
  ],
  features: {
    devInteractions: { enabled: false },
    introspection: { enabled: true },
  },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  rotateRefreshToken: true,
  ttl: { AccessToken: 3600, Grant: 86400, IdToken: 3600, RefreshToken: 86400 },
});

async function signIn(Token, person, client) {
  const accountId = `user-${person}`;
  const grant = new provider.Grant({ accountId, clientId: client.clientId });
  grant.addOIDCScope(SCOPE);
  const grantId = await grant.save();
  const token = new Token({
    accountId,
    client,
    grantId,
    gty: 'authorization_code',
    scope: SCOPE,
    expiresWithSession: false,
  });
  return token.save();
}

const client = await provider.Client.find('bench');
for (const [file, Token, count] of [
  ['access', provider.AccessToken, Number(accessTokens)],
  ['refresh', provider.RefreshToken, Number(refreshTokens)],
]) {
  const made = [];
  for (let person = 0; person < count; person += 1) made.push(await signIn(Token, person, client));
  writeFileSync(join(folder, file), made.join('\n'));
}
createServer(provider.callback()).listen(Number(port), '127.0.0.1');
