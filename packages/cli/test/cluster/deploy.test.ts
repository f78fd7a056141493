// The files of deploy/: what they start exists, with the program's versions and ports. This test does not run them, since it needs no container.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { testedEngineVersion } from '../../src/cluster/server-binary.ts'
import { parseFlags } from '../../src/flags/parse.ts'

/** A key in the engine's format. */
const publicKey = 'publickeyv1_2G8dCQhArfvGpzPw5Vx2ALciR4xCLHfS5YaT93XjNxX9'
const fileOf = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')
const compose = fileOf('deploy/compose.yaml')
const [, workerService = ''] = compose.split('\n  worker:\n')
const flags = [...workerService.matchAll(/^ {6}- (--.*)$/gm)].map(([, flag = '']) =>
  flag.replace(/\$\{IDENTITY_KEY[^}]*\}/, publicKey),
)

test('passes only existing flags of halting serve, with values', () => {
  expect(flags.length).toBeGreaterThan(8)
  const { flags: given, words } = parseFlags(['serve', ...flags])
  expect(words).toEqual(['serve'])
  expect(given).toMatchObject({ restate: 'http://engine:8080', admin: 'http://engine:9070', host: '0.0.0.0' })
})

test('uses the engine version that the program installs', () => {
  expect(compose).toContain(`image: restatedev/restate:${testedEngineVersion}\n`)
})

test("registers workers under the balancer's address, which checks them where they listen", () => {
  const balancer = fileOf('deploy/haproxy.cfg')
  expect(flags).toContain('--register=http://workers:9080')
  expect(balancer).toContain('bind :9080')
  expect(balancer).toMatch(/^ {2}server-template worker \d+ worker:9080 /m)
  expect(balancer).toContain('option httpchk GET /live')
  expect(fileOf('deploy/Dockerfile')).toContain('EXPOSE 9080')
})

test('gives workers more time to stop than they give their sessions', () => {
  const [, seconds] = /stop_grace_period: (\d+)s/.exec(compose) ?? []
  expect(Number(seconds)).toBeGreaterThan(30)
})
