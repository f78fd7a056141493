import { AsyncLocalStorage } from 'node:async_hooks'
import type { Environment } from '../tools/limits.ts'

/** Undefined outside a scope. `exit` would disable and enable the hooks of the whole process with each call. */
const scope = new AsyncLocalStorage<Environment | undefined>()
/** The original `process.env`. */
let outer: NodeJS.ProcessEnv | undefined

/**
 * Runs an action for which these variables are `process.env`. Only code called by the action receives them: other
 * sessions of the process, and their commands, do not. If the variables are those of the process, nothing changes.
 */
export function withEnvironment<Result>(env: Environment, action: () => Result): Result {
  if (isThatOfProcess(env)) return outer === undefined ? action() : scope.run(undefined, action)
  if (outer === undefined) {
    outer = process.env
    process.env = scopedEnvironment(outer)
  }
  return scope.run(env, action)
}

/**
 * The same function, bound to the scope in which it is created: callbacks must not run in the scope that calls them.
 */
export function inOuterScope<Args extends readonly unknown[], Result>(
  action: (...args: Args) => Result,
): (...args: Args) => Result {
  const here = scope.getStore()
  return (...args) => scope.run(here, action, ...args)
}

function isThatOfProcess(env: Environment): boolean {
  const own = outer ?? process.env
  const names = new Set([...Object.keys(own), ...Object.keys(env)])
  return [...names].every((name) => own[name] === env[name])
}

/** Reads variables of the scope, if there is one. Writes go to the process as usual. */
function scopedEnvironment(real: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return new Proxy(real, {
    get(target, name) {
      const own = scope.getStore()
      if (own === undefined || typeof name === 'symbol') return Reflect.get(target, name) as unknown
      return Object.hasOwn(own, name) ? own[name] : undefined
    },
    has(target, name) {
      const own = scope.getStore()
      return own === undefined || typeof name === 'symbol' ? Reflect.has(target, name) : own[name] !== undefined
    },
    // Otherwise the variable would be redefined, which Node rejects.
    set: (target, name, value) => Reflect.set(target, name, value),
    deleteProperty: (target, name) => Reflect.deleteProperty(target, name),
    ownKeys(target) {
      const own = scope.getStore()
      return own === undefined ? Reflect.ownKeys(target) : Object.keys(own).filter((name) => own[name] !== undefined)
    },
    getOwnPropertyDescriptor(target, name) {
      const own = scope.getStore()
      if (own === undefined || typeof name === 'symbol') return Reflect.getOwnPropertyDescriptor(target, name)
      const value = Object.hasOwn(own, name) ? own[name] : undefined
      return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true }
    },
  })
}
