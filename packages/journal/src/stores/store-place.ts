import { createHash } from 'node:crypto'

/** The variable that names the store of sessions: `sqlite:PATH` or `postgres://…`. Empty or absent: sessions are files. */
export const sessionStoreVariable = 'HALTING_SESSION_STORE'

/**
 * An address of Postgres, in the forms that its own programs take: the host may be missing, and stand among the parameters. Ports are digits, and behind the host there is
 * no `@`: in a password with a `/` or `?` that is not written as `%2F` or `%3F`, all before that character would be taken for a host, and printed.
 */
const addressForm =
  /^(?<scheme>postgres(?:ql)?):\/\/(?:(?<credentials>[^/?#]*)@)?(?<host>(?:(?:[\w.%-]+|\[[\da-f:.]+\])?(?::\d*)?(?:,|(?=[/?]|$)))*)(?<path>\/[^?#@]*)?(?:\?(?<query>[^#@]*))?$/i

/** Whether a text is an address of Postgres. */
export function isPostgresAddress(value: string): boolean {
  return addressForm.test(value)
}

/** What of a connection string may be printed: no user, no password, and of its parameters those that say where. */
export function sessionStoreName(value: string): string {
  if (value.startsWith('sqlite:')) return value
  const { scheme, host = '', path = '', query = '' } = addressForm.exec(value)?.groups ?? {}
  if (scheme === undefined) return 'the session store'
  const places = query.split('&').filter((each) => /^(?:host|port)=/.test(each))
  return `${scheme}://${host}${path}${places.length === 0 ? '' : `?${places.join('&')}`}`
}

/** The parts of a connection string that are secret, as they are written there and as they are meant. */
export function sessionStoreSecrets(value: string): readonly string[] {
  const { credentials = '', query = '' } = addressForm.exec(value)?.groups ?? {}
  const inQuery = query.split('&').flatMap((each) => /^(?:password|sslpassword)=(.+)$/.exec(each)?.[1] ?? [])
  const secrets = [...(credentials.includes(':') ? [credentials.slice(credentials.indexOf(':') + 1)] : []), ...inQuery]
  return secrets.filter((each) => each !== '').flatMap((each) => [...new Set([each, decoded(each)])])
}

/** The name of the folder for the files of a store. A changed password names the same store. */
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
