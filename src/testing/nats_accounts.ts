// For tests: users of a NATS server in operator mode, with credentials that expire.

import { nkeys } from '@nats-io/transport-node'

type KeyPair = ReturnType<typeof nkeys.createUser>

/** `config` is added to the configuration of the server. */
export type Accounts = { config: string; credentials(ends_s: number): string }

export function natsAccounts(): Accounts {
  const [operator, system, account] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createAccount()]
  const unlimited = { subs: -1, data: -1, payload: -1 }
  const claims = (nats: object) => ({ nats: { version: 2, ...nats } })
  const limits = { ...unlimited, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1, mem_storage: -1, disk_storage: -1 }
  const accounts = [system, account].map((pair) => {
    const storage = pair === account ? { streams: -1, consumer: -1 } : { mem_storage: 0, disk_storage: 0 }
    return [pair.getPublicKey(), signed(operator, pair, claims({ type: 'account', limits: { ...limits, ...storage } }))] as const
  })
  return {
    config: `operator: ${signed(operator, operator, claims({ type: 'operator' }))}
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: { ${accounts.map(([key, jwt]) => `${key}: ${jwt}`).join(', ')} }`,
    credentials(ends_s) {
      const user = nkeys.createUser()
      const jwt = signed(account, user, { exp: ends_s, ...claims({ type: 'user', ...unlimited }) })
      return `-----BEGIN NATS USER JWT-----
${jwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${new TextDecoder().decode(user.getSeed())}
------END USER NKEY SEED------
`
    },
  }
}

/** Signs claims about a key with the issuer's key. */
function signed(issuer: KeyPair, subject: KeyPair, claims: object): string {
  const iat = Math.floor(Date.now() / 1000)
  const whole = { jti: subject.getPublicKey(), iat, iss: issuer.getPublicKey(), name: 'test', sub: subject.getPublicKey(), ...claims }
  const text = [{ typ: 'JWT', alg: 'ed25519-nkey' }, whole].map((part) => encoded(JSON.stringify(part))).join('.')
  return `${text}.${encoded(issuer.sign(new TextEncoder().encode(text)))}`
}

function encoded(part: string | Uint8Array): string {
  return Buffer.from(part).toString('base64url')
}
