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

/** What runs and stores a program, with a small one: to compile the whole one takes most of a start. */
let small = ''

beforeAll(() => {
  mkdirSync(project())
  small = smallProgram()
  watch = join(here(), 'watch.cjs')
  // Tells of each script whether V8 took stored code for it.
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

/** Where the program starts. */
const project = (): string => join(here(), 'project')

/** A folder of caches of its own, in which a start stores its code. */
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
  // The script that it prints is long.
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

/** The program's own `bin`, and a script that prints of a completion only the first line, refuses what is none, and waits for others where a test asks. */
function smallProgram(): string {
  const folder = join(here(), 'small')
  mkdirSync(join(folder, 'dist'), { recursive: true })
  for (const part of ['bin', 'package.json'])
    cpSync(join(inject('program'), part), join(folder, part), { recursive: true })
  // As the bundler writes it: what names the build comes first. What is larger than a page has bits of many kinds to lose.
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

/** One that holds what a start stored. */
async function filledCache(): Promise<string> {
  const cache = newCache()
  expect(await startIn(cache)).toBe(compiled)
  return cache
}

test('a second start takes the code that the first has stored, for this person alone', async () => {
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

test('scripts that were not stored are loaded behind those that were, with memory that can be released', async () => {
  const cache = newCache()
  const releases = join(here(), 'releases.cjs')
  // As later versions of Node have it.
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

test('what lost a bit or a part is not taken, and is made again', async () => {
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

test.skipIf(!isRoot)(
  'what another user owns is not taken, and nothing is written into a folder of theirs',
  async () => {
    const cache = await filledCache()
    chownSync(storedFile(cache), 12_345, 12_345)
    expect(await startIn(cache)).toBe(compiled)
    const { ino, uid } = statSync(storedFile(cache))
    expect(uid).toBe(0)
    chownSync(folderIn(cache), 12_345, 12_345)
    expect(await startIn(cache)).toBe(compiled)
    expect(statSync(storedFile(cache)).ino).toBe(ino)
  },
)

test('what others can write is not taken', async () => {
  const cache = await filledCache()
  chmodSync(storedFile(cache), 0o620)
  expect(await startIn(cache)).toBe(compiled)
  chmodSync(folderIn(cache), 0o770)
  expect(await startIn(cache)).toBe(compiled)
})

test('a link is not followed, to a file or to a folder', async () => {
  const [cache, linked, elsewhere] = [newCache(), newCache(), await filledCache()]
  mkdirSync(folderIn(cache), { mode: 0o700 })
  symlinkSync(storedFile(elsewhere), join(folderIn(cache), storedIn(elsewhere)[0] ?? ''))
  expect(await startIn(cache)).toBe(compiled)
  // A file has taken its place.
  expect(lstatSync(storedFile(cache)).isFile()).toBe(true)
  symlinkSync(folderIn(elsewhere), folderIn(linked))
  expect(await startIn(linked)).toBe(compiled)
})

test('where nothing can be stored, and where nothing is to be, it runs without a word', async () => {
  expect(await startIn('/dev/null/cache')).toBe(compiled)
  const cache = newCache()
  expect(await startIn(cache, { env: { NODE_DISABLE_COMPILE_CACHE: '1' } })).toBe(compiled)
  // Too little was compiled.
  expect(await startIn(cache, { args: ['completion', 'none'] })).toMatch(/compiled$/)
  expect(existsSync(folderIn(cache))).toBe(false)
})

test('starts at the same time store one whole file', async () => {
  const cache = newCache()
  // Each has begun before one stores anything.
  const start = (): Promise<string> => startIn(cache, { env: { WAITS_FOR_THREE: join(here(), 'begun') } })
  mkdirSync(join(here(), 'begun'))
  expect(await Promise.all([start(), start(), start()])).toEqual([compiled, compiled, compiled])
  expect(storedIn(cache)).toEqual([expect.stringMatching(/\.code$/)])
  expect(await startIn(cache)).toBe(stored)
})

test('other flags of Node have a file of their own, and what is a month old goes', async () => {
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

test('of two versions each takes its own code, and a script that was changed by hand is compiled anew', async () => {
  const cache = newCache()
  const [one, two] = [{ program: copyOfProgram('one') }, { program: copyOfProgram('two') }]
  change(two.program, /^\/\*\w{2}/, '/*xx')
  expect([await startIn(cache, one), await startIn(cache, two)]).toEqual([compiled, compiled])
  expect([await startIn(cache, one), await startIn(cache, two)]).toEqual([stored, stored])
  expect(storedIn(cache)).toHaveLength(2)
  // Of the same length, by which V8 would take it for the same.
  change(one.program, /There is no command/, 'There is NO command')
  expect([await startIn(cache, one), await startIn(cache, one)]).toEqual([compiled, stored])
})

test('two copies of one build keep their code beside each other', async () => {
  const cache = newCache()
  const [one, two] = [{ program: copyOfProgram('copy') }, { program: copyOfProgram('other-copy') }]
  utimesSync(join(two.program, 'dist/start.cjs'), 1_700_000_000, 1_700_000_000)
  expect([await startIn(cache, one), await startIn(cache, two)]).toEqual([compiled, compiled])
  expect([await startIn(cache, one), await startIn(cache, two)]).toEqual([stored, stored])
})

test('a folder of caches in a project is neither read nor written, whatever names it', async () => {
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
  // The usual folder was used.
  expect(storedIn(join(home, '.cache'))).toHaveLength(1)
  expect([storedIn(inProject), storedIn(inCopy)]).toEqual([storedIn(cache), storedIn(cache)])
  expect(statSync(storedFile(inCopy)).ino).toBe(written)
})

test('a home that is relative names no folder of caches', async () => {
  expect(await startIn('', { env: { HOME: '.', LOCALAPPDATA: 'caches' } })).toBe(compiled)
  expect(readdirSync(project())).not.toContain('.cache')
})

test.skipIf(!isRoot)('the administrator makes nothing in a home of somebody else', async () => {
  const home = newCache()
  chownSync(home, 12_345, 12_345)
  expect(await startIn('', { env: { HOME: home } })).toBe(compiled)
  expect(readdirSync(home)).not.toContain('.cache')
})

test('of many files the oldest go, and so do those that were never whole', async () => {
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

/** With a first script of its own. */
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
