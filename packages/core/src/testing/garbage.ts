/** Values that plain JavaScript may throw or return, each created anew. Reading them may itself throw. */
export const garbage: readonly (readonly [what: string, make: () => unknown])[] = [
  ['nothing', () => undefined],
  ['null', () => null],
  ['a number', () => 7],
  ['no number', () => Number.NaN],
  ['a big integer', () => 10n],
  ['a symbol', () => Symbol('odd')],
  ['an empty text', () => ''],
  ['an empty object', () => ({})],
  ['an empty list', () => []],
  ['an object without a prototype', () => Object.create(null) as unknown],
  ['a function', () => () => 1],
  ['an error without a message', () => new Error('')],
  ['an error whose message throws', () => throwing(new Error('x'), 'message')],
  ['an error whose message is not a text', () => Object.assign(new Error('x'), { message: { odd: 1n } })],
  ['an error whose name throws', () => throwing(new Error(''), 'name')],
  ['an object whose toString throws', () => ({ toString: bug })],
  ['an object whose toString returns no text', () => ({ toString: () => ({}) })],
  ['an object whose toJSON throws', () => ({ toJSON: bug })],
  ['an object whose fields throw', () => throwing({}, 'content', 'valid', 'behavior', 'aborted', 'prompt', 'fits')],
  ['an object whose then throws', () => throwing({}, 'then')],
  ['a thenable that throws', () => having('then', bug)],
  ['a thenable that rejects', () => having('then', (_resolve, reject) => reject(Object.create(null)))],
  ['a proxy that was revoked', () => revoked()],
  ['a proxy that refuses everything', () => new Proxy({}, refusing)],
  ['a circle', () => circle()],
  ['something very deep', () => deep()],
  ['content that is no list of blocks', () => ({ content: [null, 7, 'x', [], {}, { type: 7 }] })],
  ['blocks that are none', () => ({ content: [{ type: 'text' }, { type: 'image' }, { type: 'tool_use', id: 'x' }] })],
  ['content that cannot be read', () => ({ content: [revoked(), circle(), throwing({ type: 'text' }, 'text')] })],
  ['details that JSON cannot hold', () => ({ content: 'x', details: { f: bug, n: 1n, m: new Map(), c: circle() } })],
  ['details that cannot be read', () => ({ content: 'x', details: revoked() })],
]

export function bug(): never {
  throw new Error('bug')
}

type Then = (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void

function having(name: string, value: Then): object {
  return Object.defineProperty({}, name, { value })
}

export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

export function circle(): object {
  const made: { self?: unknown } = {}
  made.self = made
  return made
}

/** Deeper than a call stack. */
export function deep(levels = 20_000): object {
  let made: object = {}
  for (let level = 0; level < levels; level++) made = { in: made }
  return made
}

/** The same object, but reading one of these fields throws. */
export function throwing<T extends object>(made: T, ...names: readonly string[]): T {
  for (const name of names) Object.defineProperty(made, name, { get: bug, enumerable: true })
  return made
}

const refusing: ProxyHandler<object> = {
  get: bug,
  has: bug,
  ownKeys: bug,
  getPrototypeOf: bug,
  getOwnPropertyDescriptor: bug,
}
