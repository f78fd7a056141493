// Runs the tests of the AI SDK's providers with the current packages, which implement `LanguageModelV4` and want a newer Node than
// this project promises: npm brings the packages, and the newest LTS Node that runs the tests. The workspace has packages of
// `LanguageModelV3`: npm chooses those on an old Node. The sums are in .tmp/providers.json.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages } from './install-packages.mjs'
import { newestNode } from './node-binaries.mjs'
import { root } from './packages.mjs'
import { reportChecks } from './report-checks.mjs'

const packages = [
  '@ai-sdk/amazon-bedrock@5.0.101',
  '@ai-sdk/anthropic@4.0.105',
  '@ai-sdk/azure@4.0.85',
  '@ai-sdk/google@4.0.121',
  '@ai-sdk/google-vertex@5.0.141',
  '@ai-sdk/groq@4.0.84',
  '@ai-sdk/mistral@4.0.87',
  '@ai-sdk/openai@4.0.118',
  '@ai-sdk/openai-compatible@3.0.92',
  '@ai-sdk/xai@5.0.12',
]
const tests = ['ai-sdk-providers', 'provider-errors', 'provider-features'].map(
  (name) => `packages/models/test/${name}.test.ts`,
)
const patienceMs = 300_000

const home = realpathSync(mkdtempSync(join(tmpdir(), 'halting-ai-sdk-')))
try {
  const { failed } = reportChecks('providers', outcomes())
  process.exitCode = failed === 0 ? 0 : 1
} finally {
  rmSync(home, { recursive: true, force: true })
}

function outcomes() {
  const node = newestNode()
  const { why } = node.why === undefined ? installed(node) : node
  return why === undefined ? run(node) : [{ title: 'providers of LanguageModelV4', kind: 'skipped', why }]
}

function installed({ bin }) {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  const { why } = installPackages(home, packages, { patienceMs, env })
  return why === undefined ? {} : { why: `the packages cannot be installed (${why})` }
}

/** Each test as a check. A run without a report is one that failed. */
function run({ bin, title }) {
  const report = join(home, 'report.json')
  const vitest = fileURLToPath(new URL('node_modules/vitest/vitest.mjs', root))
  const parameters = [vitest, 'run', '--reporter=json', `--outputFile.json=${report}`, ...tests]
  const { stdout, stderr } = spawnSync(join(bin, 'node'), parameters, {
    cwd: fileURLToPath(root),
    env: { ...process.env, HALTING_AI_SDK: home },
    encoding: 'utf8',
    timeout: patienceMs,
    killSignal: 'SIGKILL',
  })
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
    return testResults.flatMap(({ assertionResults }) =>
      assertionResults.map(({ fullName, status, failureMessages }) =>
        status === 'passed'
          ? { title: fullName, kind: 'passed' }
          : { title: fullName, kind: 'failed', why: failureMessages.join('\n') || status },
      ),
    )
  } catch (error) {
    return [{ title: `the tests on ${title}`, kind: 'failed', why: `${error.message}\n${stdout}\n${stderr}` }]
  }
}
