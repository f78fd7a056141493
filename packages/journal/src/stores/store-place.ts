import { createHash } from 'node:crypto'

/** The variable that names the store of sessions: `sqlite:PATH` or `postgres://…`. Empty or absent: sessions are files. */
export const sessionStoreVariable = 'HALTING_SESSION_STORE'

/** What of a connection string may be printed: no user, no password, and of its parameters those that say where. */
export function sessionStoreName(value: string): string {
  const url = urlOf(value)
  if (url === undefined) return value.startsWith('sqlite:') ? value : 'the session store'
  const places = [...url.searchParams].filter(([name]) => name === 'host' || name === 'port')
  const query = places.length === 0 ? '' : `?${places.map(([name, place]) => `${name}=${place}`).join('&')}`
  return `${url.protocol}//${url.host}${url.pathname}${query}`
}

/** The name of the folder for the files of a store. A changed password names the same store. */
export function sessionStoreKey(value: string): string {
  const user = urlOf(value)?.username ?? ''
  return createHash('sha256')
    .update(`${user} ${sessionStoreName(value)}`)
    .digest('hex')
    .slice(0, 12)
}

function urlOf(value: string): URL | undefined {
  return /^postgres(?:ql)?:/i.test(value) && URL.canParse(value) ? new URL(value) : undefined
}
