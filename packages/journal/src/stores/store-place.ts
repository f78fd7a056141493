import { createHash } from 'node:crypto'

/** Variable that names the session store: `sqlite:PATH` or `postgres://…`. If empty or unset, sessions are files. */
export const sessionStoreVariable = 'HALTING_SESSION_STORE'

/**
 * A Postgres address in the forms of its own tools: the host may be missing, or be a parameter. Ports are digits, and
 * no `@` follows the host. Otherwise a password with an unescaped `/` or `?` would be mistaken for a host, and printed.
 */
const addressForm =
  /^(?<scheme>postgres(?:ql)?):\/\/(?:(?<credentials>[^/?#]*)@)?(?<host>(?:(?:[\w.%-]+|\[[\da-f:.]+\])?(?::\d*)?(?:,|(?=[/?]|$)))*)(?<path>\/[^?#@]*)?(?:\?(?<query>[^#@]*))?$/i

/** Whether a text is a Postgres address. */
export function isPostgresAddress(value: string): boolean {
  return addressForm.test(value)
}

/** Returns the printable part of a connection string: no user, no password, and only parameters with the location. */
export function sessionStoreName(value: string): string {
  if (value.startsWith('sqlite:')) return value
  const { scheme, host = '', path = '', query = '' } = addressForm.exec(value)?.groups ?? {}
  if (scheme === undefined) return 'the session store'
  const places = query.split('&').filter((each) => /^(?:host|port)=/.test(each))
  return `${scheme}://${host}${path}${places.length === 0 ? '' : `?${places.join('&')}`}`
}

/** Returns the secret parts of a connection string, encoded and decoded. */
export function sessionStoreSecrets(value: string): readonly string[] {
  const { credentials = '', query = '' } = addressForm.exec(value)?.groups ?? {}
  const inQuery = query.split('&').flatMap((each) => /^(?:password|sslpassword)=(.+)$/.exec(each)?.[1] ?? [])
  const secrets = [...(credentials.includes(':') ? [credentials.slice(credentials.indexOf(':') + 1)] : []), ...inQuery]
  return secrets.filter((each) => each !== '').flatMap((each) => [...new Set([each, decoded(each)])])
}

/** Returns the folder name for the files of a store. It does not depend on the password. */
export function sessionStoreKey(value: string): string {
  const [user = ''] = (addressForm.exec(value)?.groups?.['credentials'] ?? '').split(':')
  return createHash('sha256')
    .update(`${user} ${sessionStoreName(value)}`)
    .digest('hex')
    .slice(0, 12)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
