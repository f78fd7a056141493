#!/usr/bin/env node
'use strict'

// CommonJS, since an ES module costs a fifth of a start of Node. Small on purpose: `--version` must not load the program. test/version.test.ts holds the
// text below to package.json.
/** How long after its start a process has all code that it ran: V8 drops what is not called any more. */
const wholeSeconds = 20
const earlyMs = 2_000
const staleMs = 30 * 24 * 60 * 60 * 1_000
const retryMs = 60 * 60 * 1_000
const mostFiles = 24

const first = process.argv[2]

if (first === '-v' || first === '--version') process.stdout.write('2.1.0 (halting 0.1.0)\n')
else void runProgram()

async function runProgram() {
  const program = openProgram()
  const { isatty } = require('node:tty')
  const terminals = [0, 1, 2].filter((stream) => isatty(stream))
  const lost = exitWhenStalled()
  const exitCode = await program.main(process.argv.slice(2))
  process.off('beforeExit', lost)
  program.storeCode(exitCode)
  // Node gives a terminal its mode back when it exits, and aborts where the terminal is gone. By the signal of that it ends without.
  if (terminals.some((stream) => !isatty(stream))) {
    process.removeAllListeners('SIGHUP')
    process.kill(process.pid, 'SIGHUP')
  }
  // At once: no handle that was left open may keep a program that has ended.
  process.exit(exitCode)
}

/**
 * Node would exit with 13, and without a word, where nothing is left that could wake the program. A run that is stalled ends itself first, with its result
 * (spec R-END-10): it gets enough turns of the event loop for that.
 */
function exitWhenStalled() {
  let turnsLeft = 1_000
  const onBeforeExit = () => {
    if (turnsLeft-- > 0) return setImmediate(() => {})
    process.stderr.write('halting: it waited for something that can never come, and ends. Please report this.\n')
    process.exit(1)
  }
  process.on('beforeExit', onBeforeExit)
  return onBeforeExit
}

/** The program: its `main`, and what stores its compiled code once an answer is out. */
function openProgram() {
  const { join } = require('node:path')
  const dist = join(__dirname, '..', 'dist')
  try {
    const { load, code } = scriptLoader(dist)
    const { main, isCommand } = load('start.cjs#main.js')
    return { main, storeCode: (exitCode) => code()?.storeAtEnd(exitCode, isCommand) }
  } catch (error) {
    if (error.code !== 'ENOENT' || require('node:fs').existsSync(join(dist, 'start.cjs'))) throw error
    process.stderr.write('halting is not built. Run: npm run build\n')
    process.exit(2)
  }
}

/** Loads scripts of scripts/program-bundle.mjs, with their compiled code where it is stored. An address is a file, and behind `#` a chunk of it. */
function scriptLoader(dist) {
  const { join } = require('node:path')
  const { closeSync, fstatSync, openSync } = require('node:fs')
  const { Script } = require('node:vm')
  const files = new Map()
  const chunks = new Map()
  let code

  const run = (file) => {
    const filename = join(dist, file)
    const descriptor = openSync(filename, 'r')
    const { size, mtimeMs } = fstatSync(descriptor)
    const bytes = readWhole(descriptor, size)
    closeSync(descriptor)
    // The bundler writes ASCII.
    const source = bytes.latin1Slice()
    // It begins with what names this build, see there. What it was read into is used again: memory that is new costs more than reading.
    if (file === 'start.cjs') code = openCode(source.slice(2, 34), Buffer.from(bytes.buffer))
    const cachedData = code?.of(file, size, mtimeMs)
    const script = new Script(source, { filename, cachedData })
    code?.add({ file, size, mtimeMs, script })
    const module = { exports: {} }
    script.runInThisContext()(module.exports, requireFrom, module, importFrom, urlOf)
    return module.exports
  }
  const exportsOf = (file) => {
    if (!files.has(file)) files.set(file, run(file))
    return files.get(file)
  }
  /** An update while this runs replaces files and removes others: chunks have a hash in their names. */
  const loadLater = (file, chunk) => {
    try {
      const exports = exportsOf(file)
      if (chunk === undefined) return exports
      if (chunk in exports) return exports[chunk]()
    } catch (error) {
      if (error.path !== join(dist, file) || file === 'start.cjs') throw error
    }
    const message = `A part of halting is not there (${chunk ?? file}): it was updated or removed while it ran. Start it again, or install it anew.`
    throw Object.assign(new Error(message), { code: 'replaced' })
  }
  const load = (address) => {
    const found = chunks.get(address)
    if (found !== undefined) return found
    const [file, chunk] = address.split('#')
    const loaded = loadLater(file, chunk)
    chunks.set(address, loaded)
    return loaded
  }
  const requireFrom = (name) => (name.startsWith('halting:') ? load(name.slice(8)) : require(name))
  const importFrom = async (name) => (String(name).startsWith('halting:') ? requireFrom(name) : import(name))
  const urlOf = (name) => require('node:url').pathToFileURL(join(dist, name)).href
  return { load, code: () => code }
}

/**
 * What V8 compiled at an earlier start of this kind; undefined where it is not to be stored. V8 does not verify such code: whoever can write it can have anything
 * run. So it counts only as a file of this person's own that nobody else can write, whole to the last bit (docs/decisions/0102-code-cache.md).
 */
function openCode(build, spare) {
  const { arch, env, execArgv, platform, version } = process
  if (env.NODE_DISABLE_COMPILE_CACHE || env.NODE_V8_COVERAGE) return undefined
  const root = cacheFolder(env)
  // Node 21 has no check sum.
  if (root === undefined || require('node:zlib').crc32 === undefined) return undefined
  const kind = kindOfStart()
  // With the place of the program: the scripts of another copy have other times, and each would replace what the other stored.
  const key = JSON.stringify([kind, build, __dirname, version, platform, arch, execArgv, env.NODE_OPTIONS ?? ''])
  const name = `${kind}-${checkSum(key).toString(16).padStart(8, '0')}.code`
  const stored = withFolder(root, false, (folder) => readCode(folder, name, key, spare))
  const scripts = []
  let written
  const isRefused = () => scripts.some(({ script }) => script.cachedDataRejected)

  const store = (stage) => {
    if (written === 'whole' || (stored?.stage === 'whole' && !stored.isOutdated() && !isRefused())) return
    // Flags or processors that V8 tells apart and the key does not must not have it written in turns, at each end.
    if (isRefused() && Math.abs(Date.now() - stored.mtimeMs) < retryMs) return
    // Of a start that showed its help too little was compiled.
    if (kind === 'terminal' && !scripts.some(({ file }) => file === 'terminal.cjs')) return
    written = stage
    withFolder(root, true, (folder) => writeCode(folder, name, codeFile(key, stage, scripts)))
  }
  const isStart = kind === 'prompt' || kind === 'terminal'
  if (stored === undefined && isStart) setTimeout(store, earlyMs, 'early').unref()

  return {
    of: (file, size, mtimeMs) => stored?.dataOf(file, size, mtimeMs),
    add: (entry) => {
      scripts.push(entry)
      stored?.release()
    },
    storeAtEnd: (exitCode, isCommand) => {
      // So is it of one that failed.
      if (exitCode === 0 && process.uptime() < wholeSeconds && (isStart || isCommand(kind))) store('whole')
    },
  }
}

/** Starts that compile much the same: a prompt, the terminal, or a command by its name. */
function kindOfStart() {
  const words = process.argv.slice(2)
  if (words.some((word) => word === '-p' || word === '--print')) return 'prompt'
  if (/^[a-z-]{2,24}$/.test(words[0] ?? '') && !words[0].startsWith('-')) return words[0]
  const { isatty } = require('node:tty')
  return isatty(0) && isatty(1) ? 'terminal' : 'prompt'
}

/**
 * The person's folder of caches. One in a project does not count, nor one that depends on where the program starts: what a repository brought would be the
 * person's own file there.
 */
function cacheFolder({ HOME, LOCALAPPDATA, XDG_CACHE_HOME }) {
  const { isAbsolute, join } = require('node:path')
  const local = process.platform === 'win32' && LOCALAPPDATA
  const usual = local || (HOME && join(HOME, '.cache'))
  const isChosen = XDG_CACHE_HOME && XDG_CACHE_HOME !== usual && isAbsolute(XDG_CACHE_HOME)
  if (isChosen && !isInProject(XDG_CACHE_HOME)) return XDG_CACHE_HOME
  return usual && isAbsolute(usual) ? usual : undefined
}

/** Whether a folder is the one of this start or below it, or in any working copy. */
function isInProject(folder) {
  const { basename, dirname, join, sep } = require('node:path')
  const { existsSync, realpathSync } = require('node:fs')
  try {
    let path = existsSync(folder) ? realpathSync(folder) : join(realpathSync(dirname(folder)), basename(folder))
    const start = process.cwd()
    if (`${path}${sep}`.startsWith(start.endsWith(sep) ? start : `${start}${sep}`)) return true
    for (; ; path = dirname(path)) {
      if (['.git', '.hg', '.jj', '.svn'].some((name) => existsSync(join(path, name)))) return true
      if (path === dirname(path)) return false
    }
  } catch {
    return true
  }
}

/** Calls a function with a path of our folder, where that is this person's alone; undefined where it is not, or anything fails: nothing depends on it. */
function withFolder(root, isMade, use) {
  const { closeSync, constants, fstatSync, openSync } = require('node:fs')
  // Of a name that rules and the sandbox keep commands of a model from.
  const path = require('node:path').join(root, '.halting')
  let descriptor
  try {
    if (isMade) makeFolder(path)
    if (process.platform === 'win32') return use(path)
    descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    if (!isOwn(fstatSync(descriptor))) return undefined
    // By the descriptor: no other folder can take its place between the check and what follows.
    if (process.platform === 'linux') return use(`/proc/self/fd/${descriptor}`)
    return isOwn(require('node:fs').statSync(root)) ? use(path) : undefined
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/**
 * Makes our folder, and the folder of caches where only that is missing.
 * @throws for the administrator in a home of somebody else, as of `sudo halting`: its owner could not use what is made there.
 */
function makeFolder(path) {
  const { existsSync, mkdirSync, statSync } = require('node:fs')
  const { dirname } = require('node:path')
  for (const made of [dirname(path), path]) {
    if (existsSync(made)) continue
    const { uid } = statSync(dirname(made))
    if (process.geteuid?.() === 0 && uid !== 0) throw new Error(`${made} would belong to the administrator.`)
    // No failure where another start has made it meanwhile.
    mkdirSync(made, { recursive: true, mode: 0o700 })
  }
}

/** Whether nobody but this person, and the administrator, can write it. */
function isOwn({ uid, mode }) {
  return process.platform === 'win32' || (uid === process.geteuid() && (mode & 0o022) === 0)
}

/** A check sum of all that follows, the length of a header in JSON, the header, and the data of each script, each where a number may be. */
function codeFile(key, stage, scripts) {
  const data = scripts.map(({ script }) => script.createCachedData())
  const entries = scripts.map(({ file, size, mtimeMs }, at) => ({ file, size, mtimeMs, bytes: data[at].length }))
  const header = Buffer.from(JSON.stringify({ key, stage, entries }))
  const start = Buffer.alloc(8)
  start.writeUInt32LE(header.length, 4)
  const file = Buffer.concat([
    start,
    ...[header, ...data].flatMap((part) => [part, Buffer.alloc(padding(part.length))]),
  ])
  file.writeUInt32LE(checkSum(file.subarray(4)))
  return file
}

/** @throws what reading throws, and for what is not a whole file of this key and this person. */
function readCode(folder, name, key, spare) {
  const { closeSync, constants, fstatSync, openSync } = require('node:fs')
  const descriptor = openSync(
    `${folder}/${name}`,
    constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  )
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile() || !isOwn(stats)) return undefined
    const file = readWhole(descriptor, stats.size, spare)
    if (file.length < 8 || checkSum(file.subarray(4)) !== file.readUInt32LE()) return undefined
    let at = 8 + file.readUInt32LE(4)
    const header = JSON.parse(file.toString('utf8', 8, at))
    if (header.key !== key) return undefined
    const found = new Map()
    for (const entry of header.entries) {
      at += padding(at)
      found.set(entry.file, { ...entry, data: file.subarray(at, (at += entry.bytes)) })
    }
    let isOutdated = false
    const dataOf = (script, size, mtimeMs) => {
      const entry = found.get(script)
      found.delete(script)
      if (entry === undefined || (entry.size === size && entry.mtimeMs === mtimeMs)) return entry?.data
      // Changed by hand: V8 looks at its length alone.
      isOutdated = true
      return undefined
    }
    // V8 has copied it: several megabytes, which would stay until a collection of all garbage. Once: what is detached cannot be detached again.
    let isReleased = false
    const release = () => {
      if (isReleased || found.size > 0) return
      isReleased = true
      file.buffer.transfer?.(0)
    }
    return { stage: header.stage, mtimeMs: stats.mtimeMs, isOutdated: () => isOutdated, dataOf, release }
  } finally {
    closeSync(descriptor)
  }
}

/** Whole or not at all, whoever writes it at the same time; what no start has written for a month goes, and the oldest of many. */
function writeCode(folder, name, contents) {
  const { readdirSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs')
  const path = (other) => `${folder}/${other}`
  // Not by its process: in a container each has the same number, and one that was killed has left its file.
  const written = `${name}.${require('node:crypto').randomBytes(6).toString('hex')}.new`
  try {
    writeFileSync(path(written), contents, { flag: 'wx', mode: 0o600 })
    renameSync(path(written), path(name))
  } catch {
    rmSync(path(written), { force: true })
  }
  const ages = readdirSync(folder)
    .filter((other) => /\.code(?:\.[\da-f]+\.new)?$/.test(other))
    .map((other) => ({ other, age: Date.now() - (statSync(path(other), { throwIfNoEntry: false })?.mtimeMs ?? 0) }))
  ages.sort((one, two) => one.age - two.age)
  for (const [at, { other, age }] of ages.entries())
    if (at >= mostFiles || age > staleMs) rmSync(path(other), { force: true })
}

/** All that a file has, in memory that was used before where it has room for it; else in memory with some room for the next one. */
function readWhole(descriptor, size, spare) {
  const { readSync } = require('node:fs')
  const room = spare?.length >= size ? spare : Buffer.allocUnsafeSlow(Math.ceil(size * 1.25))
  let end = 0
  for (let read = -1; read !== 0 && end < size; end += read) read = readSync(descriptor, room, end, size - end, null)
  return room.subarray(0, end)
}

/** Finds damage, and nothing more. The digests of `node:crypto` are dearer, most of all to load: as much as a twentieth of a start. */
function checkSum(data) {
  return require('node:zlib').crc32(data)
}

function padding(length) {
  return (8 - (length % 8)) % 8
}
