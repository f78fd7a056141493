// Runs the conformance kit of the Model Context Protocol against our MCP client (mcp-conformance-client.mjs), one check per scenario. npm brings
// the kit and a Node for it; the client runs on the Node that runs this. Needs a build. Counts are in .tmp/mcp-conformance.json.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages } from './install-packages.mjs'
import { newestNode } from './node-binaries.mjs'
import { reportChecks } from './report-checks.mjs'

const version = '0.1.16'
const patienceMs = 120_000

const scenarios = [
  'initialize',
  'tools_call',
  'elicitation-sep1034-client-defaults',
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/scope-from-www-authenticate',
  'auth/scope-from-scopes-supported',
  'auth/scope-omitted-when-undefined',
  'auth/scope-step-up',
  'auth/scope-retry-limit',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-post',
  'auth/token-endpoint-auth-none',
  'auth/pre-registration',
  'auth/2025-03-26-oauth-endpoint-fallback',
  'auth/resource-mismatch',
  'auth/offline-access-scope',
  'auth/offline-access-not-supported',
]

/** Scenarios about features that this client does not have, or implements differently. */
const notApplicable = {
  'sse-retry': 'the kit asks after 500 ms; this client waits a second at the least (R-MCP-3c)',
  'auth/2025-03-26-oauth-metadata-backcompat': 'its metadata names another issuer than its address (R-MCP-16h)',
  'auth/basic-cimd': 'a client id that is an address needs a page of ours on the web',
  'auth/client-credentials-jwt': 'an extension: a person signs in here, no program does',
  'auth/client-credentials-basic': 'an extension: a person signs in here, no program does',
  'auth/cross-app-access-complete-flow': 'an extension for identity providers of organizations',
}

const home = realpathSync(mkdtempSync(join(tmpdir(), 'halting-mcp-conformance-')))
try {
  const [only] = process.argv.slice(2)
  const { failed } = reportChecks('mcp-conformance', outcomes(only))
  process.exitCode = failed === 0 ? 0 : 1
} finally {
  rmSync(home, { recursive: true, force: true })
}

function outcomes(only) {
  const node = newestNode()
  const kit = node.why === undefined ? installed() : node
  const wanted = scenarios.filter((title) => only === undefined || title.includes(only))
  const skipped = Object.entries(notApplicable).map(([title, why]) => ({ title, kind: 'skipped', why }))
  const ran = wanted.map((title) =>
    kit.why === undefined ? run(title, node) : { title, kind: 'skipped', why: kit.why },
  )
  return only === undefined ? [...ran, ...skipped] : ran
}

function installed() {
  const { why } = installPackages(home, [`@modelcontextprotocol/conformance@${version}`], { patienceMs })
  return why === undefined ? {} : { why: `the kit cannot be had (${why})` }
}

function run(scenario, { bin }) {
  const kit = join(home, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
  const client = [process.execPath, fileURLToPath(new URL('mcp-conformance-client.mjs', import.meta.url))].join(' ')
  const parameters = [kit, 'client', '--command', client, '--scenario', scenario, '--timeout', '60000']
  const { status, stdout, stderr } = spawnSync(join(bin, 'node'), parameters, {
    cwd: home,
    env: { PATH: `${bin}${delimiter}${process.env.PATH}`, HOME: home },
    encoding: 'utf8',
    timeout: patienceMs,
    killSignal: 'SIGKILL',
  })
  if (status === 0) return { title: scenario, kind: 'passed' }
  return { title: scenario, kind: 'failed', why: `exit ${status}\n${stdout}\n${stderr}`.slice(0, 4_000) }
}
