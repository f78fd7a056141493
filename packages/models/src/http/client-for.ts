import type * as Http from 'node:http'
import type * as Https from 'node:https'

/**
 * Node's client for a protocol; the one for TLS brings all of TLS. Not by `import`: that reads every export of a module,
 * and reading `WebSocket` of `node:http` loads the client of `fetch` in Node 22 and later.
 */
export function clientFor(protocol: string): typeof Http | typeof Https {
  return protocol === 'https:' ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http')
}
