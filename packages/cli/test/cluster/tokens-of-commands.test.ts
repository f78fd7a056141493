// Holds a rule of docs/spec.md: R-SECRET-5
import { expect, test } from 'vitest'
import { toolEnvironment } from '../../src/session/tool-environment.ts'

test('commands of a session are not given the tokens of a cluster, unless a person passes them on', () => {
  const env = { PATH: '/bin', HALTING_CLUSTER_TOKEN: 'a', HALTING_WORKER_TOKEN: 'b' }
  expect(toolEnvironment(env)).toEqual({ PATH: '/bin' })
  expect(toolEnvironment(env, ['HALTING_WORKER_TOKEN'])).toEqual({ PATH: '/bin', HALTING_WORKER_TOKEN: 'b' })
})
