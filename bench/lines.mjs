// How many lines of code eight programs take with Halting, `ai` and `@openai/agents`: `node bench/lines.mjs` prints the table of bench/README.md.
// `--types` installs both peers in a temporary folder, checks the types of their programs, and runs their tests.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages } from '../scripts/install-packages.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const folders = { Halting: 'examples/programs', ai: 'bench/lines/ai', agents: 'bench/lines/openai-agents' }

/** What each program does, and what it lacks with a peer. */
const programs = [
  {
    file: 'triage.ts',
    does: 'Triage a ticket: an answer that matches a schema, for 5 cents',
    ai: 'no bound on the cost; an answer that does not match is an error',
    agents: 'the same',
  },
  {
    file: 'budget.ts',
    does: 'Run any tools for 50 cents',
    ai: 'stops after the step that reached the limit, which may cost more; prices are yours to keep',
    agents: 'aborts after the reply that reached the limit; prices are yours to keep',
  },
  {
    file: 'fan-out.ts',
    does: 'Five agents in parallel and one that sums up, for a dollar together',
    ai: 'what is under way when the limit is reached goes on',
    agents: 'the same',
  },
  {
    file: 'server.ts',
    does: 'Serve useChat by SSE; a client that comes back gets what it missed',
    ai: 'gets everything again, not what it missed; no history on the server, no bound on the cost',
    agents: 'text only: calls, reasoning and approvals need a translation each; no bound on the cost',
  },
  {
    file: 'approval.ts',
    does: 'A person approves a refund in another request or process',
    ai: '–',
    agents: '–',
  },
  {
    file: 'resume.ts',
    does: 'Process an order: killed at any moment, it continues, and charges once',
    ai: 'a charge that was cut off is made again, under another key',
    agents: 'what a call that was cut off has done is on no record',
  },
  {
    file: 'chat.ts',
    does: 'A chat whose history is on the server',
    ai: 'no bound on the cost',
    agents: 'the same',
  },
  {
    file: 'weather-agent.test.ts',
    does: 'Test an agent: what it called, what it answered, and that it gives up',
    ai: 'a failure says nothing of the run',
    agents: 'the same; the scripted model is yours to write',
  },
]

/** Lines that are neither blank nor comments; imports count. */
function codeLines(code) {
  let isInComment = false
  return code.split('\n').filter((line) => {
    const text = line.trim()
    if (isInComment) {
      isInComment = !text.endsWith('*/')
      return false
    }
    if (text.startsWith('/*')) {
      isInComment = !text.endsWith('*/')
      return false
    }
    return text !== '' && !text.startsWith('//')
  }).length
}

function table() {
  const lines = (peer, file) => codeLines(readFileSync(join(root, folders[peer], file), 'utf8'))
  const rows = programs.map(({ file, does, ai, agents }) => {
    const counts = Object.keys(folders).map((peer) => lines(peer, file))
    return `| [${does}](../examples/programs/${file}) | ${counts.join(' | ')} | ${ai} | ${agents} |`
  })
  const head = '| program | Halting | `ai` | Agents | missing with `ai` | missing with Agents |'
  return [head, '|---|---|---|---|---|---|', ...rows].join('\n')
}

const peers = ['ai@7.0.173', '@ai-sdk/anthropic@4.0.105', '@openai/agents@0.20.0', 'zod@4.6.7', '@types/node@20']

/** @returns {boolean} whether everything is correct */
function checkTypes() {
  const folder = mkdtempSync(join(tmpdir(), 'halting-lines-'))
  try {
    const { why } = installPackages(folder, peers, { patienceMs: 300_000 })
    if (why !== undefined) {
      console.log(`skipped: the peers cannot be installed (${why})`)
      return true
    }
    cpSync(join(root, 'bench/lines'), join(folder, 'lines'), { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
    const options = {
      ...{ target: 'es2022', lib: ['es2023', 'dom'], types: ['node'], module: 'nodenext', moduleDetection: 'force' },
      ...{ strict: true, noUncheckedIndexedAccess: true, noImplicitReturns: true, verbatimModuleSyntax: true },
      ...{ allowImportingTsExtensions: true, erasableSyntaxOnly: true, skipLibCheck: true, noEmit: true },
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['lines'] }))
    const bin = (name) => join(root, 'node_modules/.bin', name)
    execFileSync(bin('tsc'), ['-p', folder], { stdio: 'inherit' })
    console.log('types: strict, no problem')
    for (const peer of ['ai', 'openai-agents']) {
      const outfile = join(folder, `${peer}.test.mjs`)
      const entry = join(folder, 'lines', peer, 'weather-agent.test.ts')
      const flags = ['--bundle', '--platform=node', '--format=esm', '--packages=external', '--log-level=error']
      execFileSync(bin('esbuild'), [entry, `--outfile=${outfile}`, ...flags], { stdio: 'inherit' })
      const env = { ...process.env, OPENAI_AGENTS_DISABLE_TRACING: '1' }
      execFileSync(process.execPath, ['--test', outfile], { env, stdio: 'ignore', timeout: 60_000 })
      console.log(`test of ${peer}: passes`)
    }
    return true
  } catch (error) {
    console.log(error.message)
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv.includes('--types')) process.exitCode = checkTypes() ? 0 : 1
else console.log(table())
