// Holds rules of docs/spec: R-CLU-5: a Node version that is too old causes an error message and does not hang.
import { ConfigurationError } from '@halting/core'
import { afterEach, expect, test } from 'vitest'
import { sessionServices } from '../src/index.ts'

const withResolvers = Object.getOwnPropertyDescriptor(Promise, 'withResolvers')
afterEach(() => {
  if (withResolvers !== undefined) Object.defineProperty(Promise, 'withResolvers', withResolvers)
})

test('a worker on Node 20 reports which version it needs', () => {
  // Node 22 has it; without it the engine's SDK waits forever.
  Reflect.deleteProperty(Promise, 'withResolvers')
  const open = (): never => {
    throw new Error('Nobody opens a session.')
  }
  expect(() => sessionServices({ open })).toThrow(ConfigurationError)
  expect(() => sessionServices({ open })).toThrow('A worker of a cluster needs Node 22 or newer, and this is Node')
})
