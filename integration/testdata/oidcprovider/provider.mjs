// Runs two identity providers of the npm package oidc-provider and prints their issuers. Each takes commands at /control: the groups
// and the session of the account that signs in, how the next ID token is spoiled, and a back-channel logout.
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { SignJWT, UnsecuredJWT, decodeJwt } from 'jose';
import { Provider } from 'oidc-provider';

const client = JSON.parse(process.argv[2]); // client_id, client_secret, redirect_uris, backchannel_logout_uri

// newJWK generates a private key as a JWK. Exporting the KeyObject that generateKeyPairSync returns otherwise can hang Node 20.20, which waits for
// itself if it collects garbage meanwhile.
const newJWK = () => generateKeyPairSync('ec', { namedCurve: 'P-256', privateKeyEncoding: { format: 'jwk' }, publicKeyEncoding: { format: 'jwk' } }).privateKey;
const keyOf = (jwk) => createPrivateKey({ key: jwk, format: 'jwk' });

// spoiled returns the ID token with changed claims, or signed in a different way.
async function spoiled(token, { claims = {}, alg }, key, kid) {
  const payload = { ...decodeJwt(token), ...claims };
  const signed = (alg, key) => new SignJWT(payload).setProtectedHeader({ alg, kid }).sign(key);
  switch (alg) {
    case 'none':
      return new UnsecuredJWT(payload).encode();
    case 'HS256':
      return signed(alg, new TextEncoder().encode(createPublicKey(key).export({ type: 'spki', format: 'pem' })));
    case 'stranger':
      return signed('ES256', keyOf(newJWK()));
    default:
      return signed('ES256', key);
  }
}

async function run() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const jwk = { ...newJWK(), use: 'sig', alg: 'ES256', kid: 'k1' };
  const key = keyOf(jwk);
  const state = { groups: ['leads'], account: 'ada', spoil: null };

  const provider = new Provider(issuer, {
    clients: [{ ...client, id_token_signed_response_alg: 'ES256', backchannel_logout_session_required: false }],
    jwks: { keys: [jwk] },
    cookies: { keys: ['a key for tests only'] },
    claims: { openid: ['sub', 'sid'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'groups', 'profile'],
    conformIdTokenClaims: true, // groups are at the userinfo endpoint only
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    fetch: (url, options) => globalThis.fetch(url, { ...options, signal: AbortSignal.timeout(20_000), dispatcher: undefined }),
    findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id, name: 'Ada Lovelace', groups: state.groups }) }),
    async loadExistingGrant(ctx) {
      const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
      grant.addOIDCScope('openid profile groups');
      await grant.save();
      return grant;
    },
  });
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.oidc?.route === 'token' && state.spoil && ctx.body?.id_token) {
      ctx.body.id_token = await spoiled(ctx.body.id_token, state.spoil, key, jwk.kid);
    }
  });
  const handle = provider.callback();

  async function control(req, res) {
    let text = '';
    for await (const part of req) text += part;
    const { logout, ...changes } = JSON.parse(text);
    Object.assign(state, changes);
    if (logout) await (await provider.Client.find(client.client_id)).backchannelLogout(logout.sub, logout.sid);
    res.end();
  }

  server.on('request', (req, res) => {
    const fail = (error) => {
      res.statusCode = 500;
      res.end(String(error));
    };
    if (req.url === '/control') control(req, res).catch(fail);
    else if (req.url.startsWith('/interaction/')) provider.interactionFinished(req, res, { login: { accountId: state.account } }).catch(fail);
    else handle(req, res);
  });
  return issuer;
}

console.log(JSON.stringify([await run(), await run()]));
process.stdin.resume().on('end', () => process.exit()); // ends with the test
