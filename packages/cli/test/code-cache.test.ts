// Holds the rules of docs/spec: R-CODE-1 to R-CODE-6.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, inject, test } from 'vitest'
import { here, installProgram } from './support/program.ts'

installProgram()

let watch = ''

/** A small program that runs and stores code, since compiling the whole program takes most of a start. */
let small = ''

beforeAll(() => {
  mkdirSync(project())
  small = smallProgram()
  watch = join(here(), 'watch.cjs')
  // Reports for each script whether V8 accepted stored code.
  writeFileSync(
    watch,
    `const vm = require('node:vm')
    const taken = []
    const { Script } = vm
    vm.Script = class extends Script {
      constructor(source, options) {
        super(source, options)
        if (options.cachedData !== undefined && !this.cachedDataRejected) taken.push(require('node:path').basename(options.filename))
      }
    }
    process.on('exit', () => require('node:fs').writeSync(3, taken.includes('start.cjs') ? 'stored' : 'compiled'))`,
  )
})

/** The entry of the program. */
const project = (): string => join(here(), 'project')

/** A separate cache folder in which a start stores its code. */
const newCache = (): string => mkdtempSync(join(here(), 'cache-'))

interface Options {
  readonly env?: Readonly<Record<string, string>>
  readonly flags?: readonly string[]
  readonly args?: readonly string[]
  readonly program?: string
}

/** What a start printed, and whether its code was stored or compiled. */
async function startIn(cache: string, options: Options = {}): Promise<string> {
  const { env, flags = [], args = ['completion', 'bash'], program = small } = options
  const child = spawn(process.execPath, [...flags, '--require', watch, join(program, 'bin/halting.js'), ...args], {
    cwd: project(),
    env: { PATH: process.env['PATH'], HOME: here(), XDG_CACHE_HOME: cache, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of child.stdio.slice(1)) stream?.on('data', (data) => (text += String(data)))
  await once(child, 'close')
  // It prints a long script.
  return text.replace(/^# Completion of halting for bash[^]*?(?=stored$|compiled$)/, 'script, ')
}

const compiled = 'script, compiled'
const stored = 'script, stored'

const folderIn = (cache: string): string => join(cache, '.halting')
const storedIn = (cache: string): readonly string[] => readdirSync(folderIn(cache))

function storedFile(cache: string): string {
  const [name = ''] = storedIn(cache)
  return join(folderIn(cache), name)
}

/** The program's own `bin` with a script that prints the first line of a completion, fails for an unknown shell, and waits if a test asks for it. */
function smallProgram(): string {
  const folder = join(here(), 'small')
  mkdirSync(join(folder, 'dist'), { recursive: true })
  for (const part of ['bin', 'package.json'])
    cpSync(join(inject('program'), part), join(folder, part), { recursive: true })
  // In the bundler's form: the build name comes first. More than a page has many kinds of bits to corrupt.
  const functions = Array.from({ length: 400 }, (_, at) => `f${at}: (x) => x.map((y) => y + ${at}).join('${at}')`)
  writeFileSync(
    join(folder, 'dist/start.cjs'),
    `/*${'0'.repeat(32)}*/(function(exports,require,module){'use strict';const all={${functions.join(',\n')}}
    for(const one of Object.values(all))one([1,2])
    const {readdirSync,writeFileSync}=require('node:fs')
    const main=async(args)=>{
      const {WAITS_FOR_THREE:folder}=process.env
      if(folder)writeFileSync(folder+'/'+process.pid,'')
      for(const more of (process.env.LOADS??'').split(' ').filter(Boolean))require('halting:'+more)
      while(folder&&readdirSync(folder).length<3)await new Promise((resolve)=>setTimeout(resolve,5))
      const known=args[1]==='bash';process.stdout.write(known?'# Completion of halting for bash\\n':'There is no command');return known?0:2}
    module.exports={'main.js':()=>({main,isCommand:(kind)=>kind==='completion'})}
    })`,
  )
  for (const more of ['one', 'two']) writeFileSync(join(folder, `dist/${more}.cjs`), '(function(exports){exports.x=1})')
  return folder
}

/** The cache with the code of one start. */
async function filledCache(): Promise<string> {
  const cache = newCache()
  expect(await startIn(cache)).toBe(compiled)
  return cache
}

test('uses the code that the first start stored, for this user only', async () => {
  const cache = newCache()
  const whole = { program: inject('program') }
  expect(await startIn(cache, whole)).toBe(compiled)
  expect(storedIn(cache)).toEqual([expect.stringMatching(/^completion-[\da-f]{8}\.code$/)])
  expect(statSync(folderIn(cache)).mode & 0o777).toBe(0o700)
  expect(statSync(storedFile(cache)).mode & 0o777).toBe(0o600)
  const { ino } = statSync(storedFile(cache))
  expect(await startIn(cache, whole)).toBe(stored)
  expect(statSync(storedFile(cache)).ino).toBe(ino)
})

test('loads scripts without stored code after the others, with memory that can be released', async () => {
  const cache = newCache()
  const releases = join(here(), 'releases.cjs')
  // Later versions of Node have it.
  writeFileSync(
    releases,
    `const gone = new WeakSet()
    ArrayBuffer.prototype.transfer = function () {
      if (gone.has(this)) throw new TypeError('It is detached.')
      gone.add(this)
    }`,
  )
  const options = { flags: ['--require', releases] }
  expect(await startIn(cache, options)).toBe(compiled)
  expect(await startIn(cache, { ...options, env: { LOADS: 'one.cjs two.cjs' } })).toBe(stored)
})

test('rejects and rebuilds code with a lost bit or part', async () => {
  const cache = await filledCache()
  const file = storedFile(cache)
  const whole = readFileSync(file)
  const damaged = [
    flipped(whole, whole.length >> 1),
    flipped(whole, 60),
    whole.subarray(0, whole.length >> 1),
    Buffer.alloc(0),
  ]
  for (const contents of damaged) {
    writeFileSync(file, contents)
    expect(await startIn(cache)).toBe(compiled)
    expect(statSync(file).size).toBeGreaterThan(whole.length * 0.9)
  }
  expect(await startIn(cache)).toBe(stored)
})

function flipped(file: Buffer, at: number): Buffer {
  const copy = Buffer.from(file)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

const isRoot = process.geteuid?.() === 0

test.skipIf(!isRoot)("rejects code of another user, and writes nothing into that user's folder", async () => {
  const cache = await filledCache()
  chownSync(storedFile(cache), 12_345, 12_345)
  expect(await startIn(cache)).toBe(compiled)
  const { ino, uid } = statSync(storedFile(cache))
  expect(uid).toBe(0)
  chownSync(folderIn(cache), 12_345, 12_345)
  expect(await startIn(cache)).toBe(compiled)
  expect(statSync(storedFile(cache)).ino).toBe(ino)
})

test('rejects code that others can write', async () => {
  const cache = await filledCache()
  chmodSync(storedFile(cache), 0o620)
  expect(await startIn(cache)).toBe(compiled)
  chmodSync(folderIn(cache), 0o770)
  expect(await startIn(cache)).toBe(compiled)
})

test('follows no link to a file or folder', async () => {
  const [cache, linked, elsewhere] = [newCache(), newCache(), await filledCache()]
  mkdirSync(folderIn(cache), { mode: 0o700 })
  symlinkSync(storedFile(elsewhere), join(folderIn(cache), storedIn(elsewhere)[0] ?? ''))
  expect(await startIn(cache)).toBe(compiled)
  // A file has replaced it.
  expect(lstatSync(storedFile(cache)).isFile()).toBe(true)
  symlinkSync(folderIn(elsewhere), folderIn(linked))
  expect(await startIn(linked)).toBe(compiled)
})

test('runs silently if nothing can be stored, or storing is off', async () => {
  expect(await startIn('/dev/null/cache')).toBe(compiled)
  const cache = newCache()
  expect(await startIn(cache, { env: { NODE_DISABLE_COMPILE_CACHE: '1' } })).toBe(compiled)
  // Too little code was compiled.
  expect(await startIn(cache, { args: ['completion', 'none'] })).toMatch(/compiled$/)
  expect(existsSync(folderIn(cache))).toBe(false)
})

test('stores one complete file from concurrent starts', async () => {
  const cache = newCache()
  // All have started before one stores anything.
  const start = (): Promise<string> => startIn(cache, { env: { WAITS_FOR_THREE: join(here(), 'begun') } })
  mkdirSync(join(here(), 'begun'))
  expect(await Promise.all([start(), start(), start()])).toEqual([compiled, compiled, compiled])
  expect(storedIn(cache)).toEqual([expect.stringMatching(/\.code$/)])
  expect(await startIn(cache)).toBe(stored)
})

test('stores a separate file for other flags of Node, and removes files after a month', async () => {
  const cache = await filledCache()
  const first = storedFile(cache)
  const monthAgo = Date.now() / 1_000 - 31 * 24 * 60 * 60
  utimesSync(first, monthAgo, monthAgo)
  const flags = ['--max-lazy']
  expect(await startIn(cache, { flags })).toBe(compiled)
  expect(storedIn(cache)).toHaveLength(1)
  expect(existsSync(first)).toBe(false)
  expect(await startIn(cache, { flags })).toBe(stored)
})

test('keeps the code of two versions apart, and recompiles an edited script', async () => {
  const cache = newCache()
  const [one, two] = [{ program: copyOfProgram('one') }, { program: copyOfProgram('two') }]
  change(two.program, /^\/\*\w{2}/, '/*xx')
  expect([await startIn(cache, one), await startIn(cache, two)]).toEqual([compiled, compiled])
  expect([await startIn(cache, one), await startIn(cache, two)]).toEqual([stored, stored])
  expect(storedIn(cache)).toHaveLength(2)
  // Of the same length, which V8 alone would accept.
  change(one.program, /There is no command/, 'There is NO command')
  expect([await startIn(cache, one), await startIn(cache, one)]).toEqual([compiled, stored])
})

test('keeps the code of two copies of one build apart', async () => {
  const cache = newCache()
  const [one, two] = [{ program: copyOfProgram('copy') }, { program: copyOfProgram('other-copy') }]
  utimesSync(join(two.program, 'dist/start.cjs'), 1_700_000_000, 1_700_000_000)
  expect([await startIn(cache, one), await startIn(cache, two)]).toEqual([compiled, compiled])
  expect([await startIn(cache, one), await startIn(cache, two)]).toEqual([stored, stored])
})

test('neither reads nor writes a cache folder in a project, whatever names it', async () => {
  const home = newCache()
  const cache = await filledCache()
  const [inProject, inCopy] = [join(project(), 'caches'), join(here(), 'working-copy', 'caches')]
  mkdirSync(join(inCopy, '../.git'), { recursive: true })
  for (const folder of [inProject, inCopy]) cpSync(cache, folder, { recursive: true })
  const link = join(here(), 'link')
  symlinkSync(inCopy, link)
  const written = statSync(storedFile(inCopy)).ino
  const env = { HOME: home, LOCALAPPDATA: process.platform === 'win32' ? '' : 'caches' }
  for (const folder of [inProject, 'caches', inCopy, link])
    expect(await startIn(folder, { env: { ...env, NODE_OPTIONS: '' } })).toBe(folder === inProject ? compiled : stored)
  // The default folder was used.
  expect(storedIn(join(home, '.cache'))).toHaveLength(1)
  expect([storedIn(inProject), storedIn(inCopy)]).toEqual([storedIn(cache), storedIn(cache)])
  expect(statSync(storedFile(inCopy)).ino).toBe(written)
})

test('ignores a relative home', async () => {
  expect(await startIn('', { env: { HOME: '.', LOCALAPPDATA: 'caches' } })).toBe(compiled)
  expect(readdirSync(project())).not.toContain('.cache')
})

test.skipIf(!isRoot)("creates nothing in another user's home when run as administrator", async () => {
  const home = newCache()
  chownSync(home, 12_345, 12_345)
  expect(await startIn('', { env: { HOME: home } })).toBe(compiled)
  expect(readdirSync(home)).not.toContain('.cache')
})

test('removes the oldest of many files, and incomplete ones', async () => {
  const cache = newCache()
  mkdirSync(folderIn(cache), { mode: 0o700 })
  const old = Array.from({ length: 30 }, (_, at) => `prompt-${String(at).padStart(24, '0')}.code`)
  for (const [at, name] of [...old, `${old[0]}.12ab.new`].entries()) {
    writeFileSync(join(folderIn(cache), name), '')
    const hourAgo = Date.now() / 1_000 - 3_600 + at
    utimesSync(join(folderIn(cache), name), hourAgo, hourAgo)
  }
  expect(await startIn(cache)).toBe(compiled)
  expect(storedIn(cache)).toHaveLength(24)
  expect(storedIn(cache)).not.toContain(old[7])
  expect(storedIn(cache)).toContain(old[8])
  expect(await startIn(cache)).toBe(stored)
})

/** With a different first script. */
function copyOfProgram(name: string): string {
  const folder = join(here(), name)
  cpSync(small, folder, { recursive: true })
  return folder
}

function change(program: string, found: RegExp, replacement: string): void {
  const file = join(program, 'dist/start.cjs')
  const text = readFileSync(file, 'utf8')
  expect(text).toMatch(found)
  writeFileSync(file, text.replace(found, replacement))
}
