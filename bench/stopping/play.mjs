// One program in one situation: from its start to its end, or until it has run for too long. Then it is ended with all processes that it started.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const lookMs = 250

/** @returns what was observed, except for the files that it wrote. */
export async function play({ start, home, situation, wallMs, maxRequests, figures, resumed }) {
  const { then, prompt = 'Deploy it.' } = situation
  const first = await one(start(prompt, false), { home, then, wallMs, maxRequests, figures })
  if (then?.resumes !== undefined) await resumed()
  const played = then?.resumes === undefined ? first : await one(start(then.resumes, true, first.words), { home, wallMs, maxRequests, figures })
  return { ...played, ...(await figures()), wallMs: first.wallMs }
}

async function one({ command, env }, { home, then, wallMs, maxRequests, figures }) {
  const began = performance.now()
  const [program, ...parameters] = command
  const mark = `stopping-${process.pid}-${Math.round(began)}`
  const child = spawn(program, parameters, {
    cwd: join(home, 'work'),
    env: { PATH: process.env.PATH, HOME: home, TERM: 'dumb', STOPPING_MARK: mark, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const out = textOf(child.stdout)
  const err = textOf(child.stderr)
  const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)))
  let exit
  void exited.then((status) => (exit = status))
  let endsAt = began + wallMs
  let hasSentSignal = false
  let endedBy = 'itself'
  while (exit === undefined) {
    await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, lookMs))])
    if (!hasSentSignal && then?.when !== undefined && existsSync(join(home, 'work', then.when))) {
      hasSentSignal = true
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      // Only the program, as a supervisor does it.
      if (exit === undefined) process.kill(child.pid, then.signal)
      endsAt = performance.now() + (then.patienceMs ?? wallMs)
    }
    const { requests } = await figures()
    if (exit === undefined && (performance.now() > endsAt || requests > maxRequests)) {
      endedBy = 'us'
      break
    }
  }
  const wallTaken = performance.now() - began
  // Time for processes that end after it.
  if (endedBy === 'itself') await new Promise((resolve) => setTimeout(resolve, 2_000))
  const left = marked(mark).filter(({ pid }) => pid !== child.pid || endedBy === 'us')
  for (const { pid } of left) end(pid)
  await exited
  return {
    exit: typeof exit === 'number' ? exit : null,
    endedBy,
    wallMs: Math.round(wallTaken),
    said: linesOf(out.text, 1).concat(linesOf(err.text, 2)).join(' ').replaceAll(home, '~'),
    words: out.text + err.text,
    left: endedBy === 'us' ? [] : left.map(({ what }) => what),
  }
}

function textOf(stream) {
  const kept = { text: '' }
  stream.setEncoding('utf8')
  stream.on('data', (piece) => (kept.text = (kept.text + piece).slice(-20_000)))
  return kept
}

/** The last lines with words, without colors. */
function linesOf(text, most) {
  // eslint-disable-next-line no-control-regex
  const plain = text.replaceAll(/\u001B\[[\d;?]*[A-Za-z]/g, '')
  const lines = plain.split('\n').filter((line) => /\w/.test(line))
  return lines.slice(-most).map((line) => line.trim())
}

/** Processes that it started, whatever group they are in: their environment has its mark. */
function marked(mark) {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      if (!readFileSync(`/proc/${name}/environ`, 'latin1').includes(mark)) return []
      const what = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim()
      return what === '' ? [] : [{ pid: Number(name), what: what.slice(0, 60) }]
    } catch {
      return []
    }
  })
}

function end(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
