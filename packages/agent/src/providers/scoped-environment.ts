import { AsyncLocalStorage } from 'node:async_hooks'
import type { Environment } from '../tools/limits.ts'

/** Undefined outside of a scope. `exit` would switch the hooks of the whole process off and on with each call. */
const scope = new AsyncLocalStorage<Environment | undefined>()
/** `process.env` as it was before it was scoped. */
let outer: NodeJS.ProcessEnv | undefined

/**
 * Runs what reads `process.env` with these variables in its place. Only what is called within sees them: other sessions of the process, and commands that
 * they start, do not. Where the variables are those of the process, nothing is changed.
 */
export function withEnvironment<Result>(env: Environment, action: () => Result): Result {
  if (isThatOfProcess(env)) return outer === undefined ? action() : scope.run(undefined, action)
  if (outer === undefined) {
    outer = process.env
    process.env = scopedEnvironment(outer)
  }
  return scope.run(env, action)
}

/** The same function, as it runs where it is made: what a scope calls to tell what it did is none of the scope. */
export function asOutside<Args extends readonly unknown[], Result>(
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

/** Reads the variables of the scope, where there is one. What is written is written for the process, as ever. */
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
    // Without this the variable would be defined anew, which Node refuses.
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
