// Holds rules of docs/spec: R-HAND-6 to R-HAND-6c.
import { spawn, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isDeep } from './support/deep.ts'
import { codingTools, type Harness } from './support/harness.ts'

// Files as users, programs and attackers leave them. Each call gets an answer that is bounded, true and fast.

type Answer = 'done' | 'error'
type Call = readonly [tool: string, input: object, answer: Answer, says: RegExp]
interface Row {
  readonly name: string
  readonly make?: (cwd: string, harness: Harness) => void | Promise<void>
  readonly calls: readonly Call[]
  /** As a user with limited permissions. */
  readonly as?: 'nobody'
  readonly skip?: boolean
  /** Takes long to create: only in the deep checks. */
  readonly isLong?: true
  /** What is on disk afterwards. */
  readonly left?: (cwd: string) => void
}

const read = (file_path: string, answer: Answer, says: RegExp, more: object = {}): Call => ['Read', { file_path, ...more }, answer, says] // prettier-ignore
const write = (file_path: string, answer: Answer, says: RegExp, content = 'new\n'): Call => ['Write', { file_path, content }, answer, says] // prettier-ignore
const edit = (file_path: string, answer: Answer, says: RegExp, old_string = 'one', new_string = 'two'): Call => ['Edit', { file_path, old_string, new_string }, answer, says] // prettier-ignore
const glob = (pattern: string, answer: Answer, says: RegExp, more: object = {}): Call => ['Glob', { pattern, ...more }, answer, says] // prettier-ignore
const grep = (pattern: string, answer: Answer, says: RegExp, more: object = {}): Call => ['Grep', { pattern, output_mode: 'content', ...more }, answer, says] // prettier-ignore

const put = (name: string, content: string | Buffer) => (cwd: string): void => fs.writeFileSync(join(cwd, name), content) // prettier-ignore
const shell =
  (script: string) =>
  (cwd: string): void => {
    const { status, stderr } = spawnSync('bash', ['-ec', script], { cwd })
    if (status !== 0) throw new Error(String(stderr))
  }
const is =
  (name: string, content: string | Buffer) =>
  (cwd: string): void =>
    expect(fs.readFileSync(join(cwd, name))).toEqual(Buffer.from(content))
// A million takes minutes to create and remove.
const many = 50_000
const isRoot = process.getuid?.() === 0
const hasProc = fs.existsSync('/proc/self/status')

const rows: readonly Row[] = [
  // Lines and sizes
  { name: 'a line of 20 MB', isLong: true, make: put('f', 'x'.repeat(20_000_000)), calls: [
    read('f', 'done', /^ {5}1\tx{2000} \[\.\.\. 19998000 characters of this line left out\]$/),
    edit('f', 'error', /Nothing in the file is like it|must match exactly/, 'nothing'),
    grep('xx', 'done', /^f:1:x{500}.{0,60}$/) ] },
  { name: 'a million lines', isLong: true, make: put('f', 'one\n'.repeat(999_999) + 'last'), calls: [
    read('f', 'done', /\[Lines 1 to 2000 of 1000000\. .*"offset": 2001\}\.\]$/),
    read('f', 'done', /^1000000\tlast$/, { offset: 1_000_000 }),
    read('f', 'error', /has 1000000 lines; there is no line 1000001/, { offset: 1_000_001 }),
    edit('f', 'error', /old_string occurs 999999 times \(lines 1, 2, 3, 4, 5, \.\.\.\)/),
    edit('f', 'done', /1000000\tend/, 'last', 'end'),
    grep('one', 'done', /\[Only \d+ results are shown/) ] },
  { name: '0 bytes', make: put('f', ''), calls: [read('f', 'done', /f exists and is empty\.$/), edit('f', 'error', /Nothing in the file/), grep('one', 'done', /^No match/), glob('f', 'done', /^f$/)] }, // prettier-ignore
  { name: 'only a byte order mark', make: put('f', '\uFEFF'), calls: [read('f', 'done', /exists and is empty/), edit('f', 'done', /Edited/, '', 'one')], left: is('f', '\uFEFFone') }, // prettier-ignore
  { name: 'only line ends', make: put('f', '\n\n\n'), calls: [read('f', 'done', /^ {5}1\t\n {5}2\t\n {5}3\t$/)] },
  { name: 'no line end at the end', make: put('f', 'one'), calls: [read('f', 'done', /^ {5}1\tone$/), edit('f', 'done', /Edited/)], left: is('f', 'two') }, // prettier-ignore
  { name: 'line ends of every kind', make: put('f', 'one\r\n2\n3\r4\r\n'), calls: [read('f', 'done', /^ {5}1\tone\n {5}2\t2\n {5}3\t3\r4$/), edit('f', 'done', /Edited/)], left: is('f', 'two\r\n2\n3\r4\r\n') }, // prettier-ignore
  { name: 'carriage returns alone', make: put('f', 'one\rb\rc'), calls: [read('f', 'done', /^ {5}1\tone\rb\rc$/), edit('f', 'done', /Edited/)], left: is('f', 'two\rb\rc') }, // prettier-ignore
  { name: 'more than may be edited', isLong: true, make: shell('head -c 67108865 /dev/zero | tr "\\0" "x" > f'), calls: [read('f', 'done', /67106865 characters of this line left out/), edit('f', 'error', /larger than 67108864 bytes/), write('f', 'done', /Updated/)] }, // prettier-ignore
  { name: 'a sparse file of 100 GB', isLong: true, make: shell('truncate -s 100G f'), calls: [read('f', 'error', /is a binary file/), edit('f', 'error', /has not been read yet/), write('f', 'error', /has not been read yet/), grep('one', 'done', /^No matches for .*\n\n\[The search was stopped after 5000 ms/, { path: 'f' })], left: (cwd) => expect(fs.statSync(join(cwd, 'f')).size).toBe(100 * 2 ** 30) }, // prettier-ignore
  { name: 'text, and then 100 GB of nothing', make: shell('printf "one\\ntwo\\n" > f; truncate -s 100G f'), calls: [read('f', 'error', /is a binary file/)] }, // prettier-ignore
  { name: 'much text, and then 100 GB of nothing', isLong: true, make: shell('yes one | head -c 16384 > f; truncate -s 100G f'), calls: [read('f', 'done', /For the rest, use Read|Read stopped here/), read('f', 'error', /all that Read scans|there is no line/, { offset: 5000 })] }, // prettier-ignore
  { name: 'a thousand columns of a hundred characters', make: put('f', `${'x'.repeat(100)},`.repeat(1000)), calls: [read('f', 'done', /99000 characters of this line left out/)] }, // prettier-ignore

  // Bytes that are not text
  { name: 'bytes of a program', make: put('f', Buffer.from([127, 69, 76, 70, 2, 1, 1, 0, 0, 0])), calls: [read('f', 'error', /is a binary file/), grep('ELF', 'done', /binary|No match/), edit('f', 'error', /has not been read yet/)] }, // prettier-ignore
  { name: 'Latin-1', make: put('f', Buffer.from('caf\xe9 one\n', 'latin1')), calls: [read('f', 'done', /caf\uFFFD one\n\n\[.*not valid UTF-8/), edit('f', 'error', /is not valid UTF-8 text/)], left: is('f', Buffer.from('caf\xe9 one\n', 'latin1')) }, // prettier-ignore
  { name: 'every byte there is', make: put('f', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))), calls: [read('f', 'error', /is a binary file/)] }, // prettier-ignore
  { name: 'zeros after the first 8 kB', make: put('f', `${'one line\n'.repeat(1000)}\0\0\0`), calls: [read('f', 'done', /1001\t\0\0\0/), edit('f', 'done', /Edited/, '\0\0\0', 'end')], left: (cwd) => expect(fs.readFileSync(join(cwd, 'f'), 'utf8').endsWith('\nend')).toBe(true) }, // prettier-ignore
  { name: 'surrogates written as UTF-8', make: put('f', Buffer.from([0x6f, 0x6e, 0x65, 0xed, 0xa0, 0x80])), calls: [read('f', 'done', /one\uFFFD/), edit('f', 'error', /is not valid UTF-8 text/)] }, // prettier-ignore
  { name: 'half a character at the end', make: put('f', Buffer.from([0x6f, 0x6e, 0x65, 0xf0, 0x9f])), calls: [read('f', 'done', /one\uFFFD/), edit('f', 'error', /is not valid UTF-8 text/)] }, // prettier-ignore
  { name: 'UTF-16 with a mark', make: put('f', Buffer.from('\uFEFFone\r\n', 'utf16le')), calls: [read('f', 'done', /^ {5}1\tone$/), edit('f', 'done', /2\t|two/), grep('two', 'done', /^f:1:two$/)], left: is('f', Buffer.from('\uFEFFtwo\r\n', 'utf16le')) }, // prettier-ignore
  { name: 'UTF-16 of an odd length', make: put('f', Buffer.concat([Buffer.from('\uFEFFone', 'utf16le'), Buffer.from('x')])), calls: [read('f', 'done', /one\uFFFD\n\n\[.*UTF-16/), edit('f', 'error', /is not valid UTF-16 text/)] }, // prettier-ignore
  { name: 'UTF-32', make: put('f', Buffer.from('fffe00006f0000006e00000065000000', 'hex')), calls: [read('f', 'error', /is a binary file/)] }, // prettier-ignore
  { name: 'sound as numbers of two bytes', make: put('f', Buffer.from(new Int16Array(5000).map((_, at) => (at % 20) - 10).buffer)), calls: [read('f', 'error', /is a binary file/)] }, // prettier-ignore
  { name: 'escapes of a terminal', make: put('f', '\u001b[2J\u001b]0;title\u0007one\n'), calls: [read('f', 'done', /one/), grep('one', 'done', /one/)] }, // prettier-ignore
  { name: 'text that turns direction', make: put('f', 'a\u202Eone\u2066\n'), calls: [read('f', 'done', /one/), edit('f', 'done', /Edited/)], left: is('f', 'a\u202Etwo\u2066\n') }, // prettier-ignore
  { name: 'ten thousand accents on a letter', make: put('f', `one${'\u0301'.repeat(10_000)}`), calls: [read('f', 'done', /characters of this line left out/)] }, // prettier-ignore
  { name: 'an emoji where the line is cut', make: put('f', `${'x'.repeat(1999)}😀😀 end`), calls: [read('f', 'done', /left out/)] }, // prettier-ignore
  { name: 'text under the name of an image', make: put('f.png', 'one'), calls: [read('f.png', 'error', /not a PNG, JPEG, GIF or WebP/)] }, // prettier-ignore
  { name: 'the beginning of an image', make: put('f.png', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')), calls: [read('f.png', 'error', /cannot be shown as an image/)] }, // prettier-ignore
  { name: 'an invalid PDF', make: put('f.pdf', '%PDF-1.7\n\0\0\0'), calls: [read('f.pdf', 'error', /is a PDF that cannot be read/)] }, // prettier-ignore

  // What is not a regular file
  { name: 'a folder in the place of a file', make: shell('mkdir f'), calls: [read('f', 'error', /is a directory/), write('f', 'error', /is a directory/), edit('f', 'error', /is a directory/)] }, // prettier-ignore
  { name: 'a file in the place of a folder', make: put('f', 'one'), calls: [read('f/a', 'error', /does not exist/), write('f/a', 'error', /cannot be written: a part of the path is a file, not a directory/), edit('f/a', 'error', /a file, not a directory \(ENOTDIR\)/), glob('*', 'error', /is a file/, { path: 'f' })], left: is('f', 'one') }, // prettier-ignore
  { name: 'a pipe', make: shell('mkfifo f'), calls: [read('f', 'error', /is not a regular file/), write('f', 'error', /is not a regular file/), edit('f', 'error', /is not a regular file/), grep('one', 'error', /neither a file nor a directory/, { path: 'f' }), grep('one', 'done', /^No match/)] }, // prettier-ignore
  { name: 'a socket', make: socket, calls: [read('f', 'error', /is not a regular file/), write('f', 'error', /is not a regular file/), grep('one', 'done', /^No match/)] }, // prettier-ignore
  { name: 'devices', calls: [...['zero', 'null', 'full', 'random', 'tty'].map((name) => read(`/dev/${name}`, 'error', /is not a regular file/)), write('/dev/full', 'error', /is not a regular file/), write('/dev/null', 'error', /is not a regular file/), edit('/dev/null', 'error', /is not a regular file/)] }, // prettier-ignore
  { name: 'files of the kernel', skip: !hasProc, calls: [read('/proc/self/status', 'done', /Name:\t/), read('/proc/self/environ', 'error', /is a binary file|exists and is empty/), read('/proc/self/mem', 'error', /cannot be read: the disk reported an error \(EIO\)/), write('/proc/self/status', 'error', /\/proc/), edit('/proc/version', 'error', /has not been read yet/), read('/proc/1/nothing', 'error', /does not exist/)] }, // prettier-ignore
  { name: 'a file of the kernel that was read', skip: !hasProc, calls: [read('/proc/version', 'done', /Linux/), edit('/proc/version', 'error', /cannot be written/, 'Linux', 'Minix')] }, // prettier-ignore
  { name: 'no file at all', make: put('readme.md', 'x'), calls: [read('readme.txt', 'error', /Similar names in that directory: readme\.md/), edit('nothing', 'error', /does not exist/), read('a/b/c', 'error', /does not exist/), grep('x', 'error', /does not exist/, { path: 'nothing' }), glob('*', 'error', /does not exist/, { path: 'nothing' })] }, // prettier-ignore

  // Links
  { name: 'a link to itself', make: shell('ln -s f f'), calls: [read('f', 'error', /link/), write('f', 'error', /link/), edit('f', 'error', /link/), grep('one', 'error', /cannot be searched: .*\(ELOOP\)/, { path: 'f' })] }, // prettier-ignore
  { name: 'links in a circle', make: shell('ln -s b a; ln -s a b; mkdir d; ln -s ../d d/d; echo one > d/f'), calls: [read('a', 'error', /link/), grep('one', 'done', /^d\/f:1:one$/), glob('**/f', 'done', /^d\/f$/), read('d/d/d/d/f', 'done', /one/)] }, // prettier-ignore
  { name: 'a link to nothing', make: shell('ln -s gone f'), calls: [read('f', 'error', /does not exist/), glob('*', 'done', /No files|^f$/), write('f', 'done', /Created/)], left: (cwd) => { expect(fs.lstatSync(join(cwd, 'f')).isSymbolicLink()).toBe(true); is('gone', 'new\n')(cwd) } }, // prettier-ignore
  { name: 'a chain of links too long for the system', make: shell('echo one > l0; for i in $(seq 1 60); do ln -s l$((i-1)) l$i; done'), calls: [read('l30', 'done', /one/), read('l60', 'done', /one/)], left: is('l0', 'one\n') }, // prettier-ignore
  { name: 'a link to a folder', make: shell('mkdir d; echo one > d/f; ln -s d l'), calls: [read('l', 'error', /is a directory/), edit('l/f', 'error', /has not been read yet/), read('l/f', 'done', /one/), edit('l/f', 'done', /Edited/)], left: is('d/f', 'two\n') }, // prettier-ignore
  { name: 'a hard link', make: shell('echo one > f; ln f g'), calls: [read('f', 'done', /one/), edit('f', 'done', /It had 2 names/)], left: is('g', 'one\n') }, // prettier-ignore

  // Names
  { name: 'a line end in a name', make: put('a\nb', 'one'), calls: [read('a\nb', 'done', /one/), glob('*', 'done', /^"a\\nb"$/), grep('one', 'done', /^"a\\nb":1:one$/), grep('one', 'done', /^"a\\nb"$/, { output_mode: 'files_with_matches' })] }, // prettier-ignore
  { name: 'control characters in a name', make: put('a\u001b[31m\tb', 'one'), calls: [read('a\u001b[31m\tb', 'done', /one/), glob('*', 'done', /^"a\\u001b\[31m\\tb"$/), grep('one', 'done', /^"a\\u001b\[31m\\tb":1:one$/)] }, // prettier-ignore
  { name: 'a name that turns direction', make: put('a\u202Etxt.exe', 'one'), calls: [glob('*', 'done', /^"a\\u202etxt\.exe"$/), grep('one', 'done', /^"a\\u202etxt\.exe":1:one$/)] }, // prettier-ignore
  { name: 'a name that is no UTF-8', make: shell('echo one > "$(printf "a\\xffb")"'), calls: [glob('*', 'done', /a\uFFFDb/), grep('one', 'done', /a\uFFFDb/), read('a\uFFFDb', 'error', /does not exist/)] }, // prettier-ignore
  { name: 'a name as long as may be, of three bytes a letter', make: put('漢'.repeat(85), 'one'), calls: [read('漢'.repeat(85), 'done', /one/), edit('漢'.repeat(85), 'done', /Edited/), write('字'.repeat(85), 'done', /Created/)], left: (cwd) => expect(fs.readdirSync(cwd).toSorted()).toEqual(['字'.repeat(85), '漢'.repeat(85)].toSorted()) }, // prettier-ignore
  { name: 'a name that is too long', calls: [read('x'.repeat(300), 'error', /too long/), write('x'.repeat(300), 'error', /too long/), read(`${'d/'.repeat(3000)}f`, 'error', /too long|does not exist/), write(`${'d'.repeat(200)}/`.repeat(30) + 'f', 'error', /too long/)] }, // prettier-ignore
  { name: 'odd paths', make: put('f', 'one'), calls: [read('./././f', 'done', /one/), read('f/', 'done', /one/), read('.', 'error', /is a directory/), read('', 'error', /file_path must be/), read('a\0b', 'error', /without NUL/), read('-n', 'error', /does not exist/)] }, // prettier-ignore
  { name: 'names that begin with a dash', make: put('--help', 'one'), calls: [read('--help', 'done', /one/), grep('one', 'done', /^--help:1:one$/, { path: '--help' }), glob('--*', 'done', /^--help$/)] }, // prettier-ignore
  { name: 'names with brackets and stars', make: put('[a]*{b}', 'one'), calls: [read('[a]*{b}', 'done', /one/), glob('\\[a\\]*', 'done', /^\[a\]\*\{b\}$/), grep('one', 'done', /1:one/, { path: '[a]*{b}' })] }, // prettier-ignore

  // Rights
  { name: 'a file that may not be read', as: 'nobody', make: shell('echo one > f; chmod 000 f; echo one > g'), calls: [read('f', 'error', /cannot be read: permission denied/), edit('f', 'error', /cannot be written: permission denied/), write('f', 'error', /cannot be written: permission denied/), grep('one', 'done', /^g:1:one\n\n\[Some of it could not be searched: .*f: Permission denied \(os error 13\)\]$/)] }, // prettier-ignore
  { name: 'a folder that may not be looked into', as: 'nobody', make: shell('mkdir d; echo one > d/f; chmod 000 d; echo one > g'), calls: [read('d/f', 'error', /cannot be read: permission denied/), write('d/f', 'error', /cannot be written: permission denied/), glob('*', 'done', /^g\n\n\[Some of it could not be searched: .*denied/i), grep('one', 'done', /^g:1:one\n\n\[Some of it could not be searched: .*denied/i), glob('*', 'error', /may not be|could not be started|denied/i, { path: 'd' })] }, // prettier-ignore
  { name: 'a folder that may not be written', as: 'nobody', make: shell('mkdir d; echo one > d/f; chmod 755 d; chmod 666 d/f'), calls: [read('d/f', 'done', /one/), edit('d/f', 'error', /cannot be written: permission denied \(EACCES\)/), write('d/new', 'error', /cannot be written: permission denied \(EACCES\)/)], left: (cwd) => { is('d/f', 'one\n')(cwd); expect(fs.readdirSync(join(cwd, 'd'))).toEqual(['f']) } }, // prettier-ignore
  { name: 'a file of somebody else in a sticky folder', as: 'nobody', skip: !isRoot, make: shell('mkdir d; echo one > d/f; chmod 1777 d; chmod 666 d/f'), calls: [read('d/f', 'done', /one/), edit('d/f', 'error', /cannot be written: permission denied \(EPERM\)/)], left: (cwd) => { is('d/f', 'one\n')(cwd); expect(fs.readdirSync(join(cwd, 'd'))).toEqual(['f']) } }, // prettier-ignore
  { name: 'a mode of its own', make: shell('echo one > f; chmod 4751 f'), calls: [read('f', 'done', /one/), edit('f', 'done', /Edited/), write('f', 'done', /Updated/)], left: (cwd) => expect(fs.statSync(join(cwd, 'f')).mode & 0o777).toBe(0o751) }, // prettier-ignore

  // What changes meanwhile
  { name: 'deleted after it was read', make: async (cwd, { use }) => { put('f', 'one')(cwd); await use('Read', { file_path: 'f' }); fs.rmSync(join(cwd, 'f')) }, calls: [edit('f', 'error', /does not exist/), write('f', 'done', /Created/)] }, // prettier-ignore
  { name: 'a folder since it was read', make: async (cwd, { use }) => { put('f', 'one')(cwd); await use('Read', { file_path: 'f' }); fs.rmSync(join(cwd, 'f')); fs.mkdirSync(join(cwd, 'f')) }, calls: [edit('f', 'error', /is a directory/), write('f', 'error', /is a directory/)] }, // prettier-ignore
  { name: 'another text of the same size and time since it was read', make: async (cwd, { use }) => { put('f', 'one')(cwd); const { atime, mtime } = fs.statSync(join(cwd, 'f')); await use('Read', { file_path: 'f' }); put('f', 'eno')(cwd); fs.utimesSync(join(cwd, 'f'), atime, mtime) }, calls: [edit('f', 'error', /has changed since you read it/, 'eno'), write('f', 'error', /has changed/)], left: is('f', 'eno') }, // prettier-ignore
  { name: 'the working directory is gone', make: (cwd) => fs.rmSync(cwd, { recursive: true }), calls: [read('f', 'error', /does not exist/), glob('*', 'error', /does not exist|no such/i), grep('one', 'error', /does not exist|no such/i), write('f', 'done', /Created/)] }, // prettier-ignore

  // Searches
  { name: 'patterns that are none', make: put('f', 'one'), calls: [grep('(', 'error', /Grep failed: .*unclosed group/s), grep('(?=one)', 'error', /look-around/), grep('a{1000000000}', 'error', /Grep failed/), grep('(x+x+)+y', 'done', /No match/), glob('[', 'done', /No files|^f$/), glob('{a,b}'.repeat(30), 'error', /too many alternatives/), glob('*'.repeat(200) + 'z', 'done', /No file/), glob('*/../*', 'error', /\.\." after a wildcard/)] }, // prettier-ignore
  { name: 'a type that there is not', make: put('f', 'one'), calls: [grep('one', 'error', /unrecognized file type/, { type: 'nothing' }), grep('one', 'error', /Grep failed/, { glob: '[' })] }, // prettier-ignore
  { name: 'matches in text and in bytes', make: (cwd) => { put('f', 'one\n')(cwd); put('g', 'one\0one\n')(cwd) }, calls: [grep('one', 'done', /^f:1:one$/), grep('one', 'done', /f/, { output_mode: 'files_with_matches' }), grep('one', 'done', /f:1/, { output_mode: 'count' }), grep('one', 'done', /binary file matches/, { path: 'g' })] }, // prettier-ignore
  { name: `${many} files in a folder`, isLong: true, make: crowd, calls: [glob('*', 'done', new RegExp(`\\[100 of ${many} files, most recently changed first`)), glob('f17777', 'done', /^d\/f17777$/), grep('nothing', 'done', /^No match/), read('d', 'error', /is a directory/), read('d/f0.txt', 'error', /does not exist/)] }, // prettier-ignore
  { name: 'folders two hundred deep', isLong: true, make: (cwd) => { const deep = join(cwd, 'd/'.repeat(200)); fs.mkdirSync(deep, { recursive: true }); fs.writeFileSync(join(deep, 'f'), 'one') }, calls: [glob('**/f', 'done', /^(d\/){200}f$/), grep('one', 'done', /1:one$/), read(`${'d/'.repeat(200)}f`, 'done', /one/)] }, // prettier-ignore
] // prettier-ignore

/** Every fourth in quick runs. */
const drawn = rows.filter(({ skip, isLong }, at) => skip !== true && (isDeep || (isLong !== true && at % 4 === 0)))

async function socket(cwd: string): Promise<void> {
  const server = createServer()
  // The path of a socket has a hundred characters at most.
  await new Promise<void>((resolve) => server.listen(join(cwd, 'f'), resolve))
  onTestFinished(() => void server.close())
}

function crowd(cwd: string): void {
  fs.mkdirSync(join(cwd, 'd'))
  fs.writeFileSync(join(cwd, 'd', 'f0'), '')
  // Names are enough, and quickly created. A file system limits the links to one file.
  const most = 30_000
  for (let at = 1; at < many; at += 1) {
    const name = join(cwd, 'd', `f${at}`)
    if (at % most === 0) fs.writeFileSync(name, '')
    else fs.linkSync(join(cwd, 'd', `f${at - (at % most)}`), name)
  }
}

const maxCharacters = 50_000
const maxMs = 60_000

describe('a bounded and true answer about', () => {
  test.each(drawn)(
    '$name',
    async ({ make, calls, as, left }) => {
      const harness = codingTools({ searchMs: 5000, readBytes: 100_000_000 })
      const { cwd } = harness
      await make?.(cwd, harness)
      if (as === 'nobody') becomeNobody(cwd)
      for (const [tool, input, answer, says] of calls) {
        const started = performance.now()
        const { text, isError } = await harness.use(tool, input).catch((thrown: unknown) => ({ text: `THROWN ${String(thrown)}`, isError: true })) // prettier-ignore
        const about = `${tool} ${JSON.stringify(input).slice(0, 200)}: ${text.slice(0, 400)}`
        expect([about, isError]).toEqual([about, answer === 'error'])
        expect(says.test(text) ? about : `${about} does not fit ${String(says)}`).toBe(about)
        expect([about, text.length <= maxCharacters, /\p{Surrogate}|THROWN|\/proc\/self\/fd/u.test(text)]).toEqual([about, true, false]) // prettier-ignore
        expect(performance.now() - started).toBeLessThan(maxMs)
      }
      becomeSomebody()
      left?.(cwd)
      // The hook that removes the folder has ten seconds.
      spawnSync('rm', ['-rf', cwd])
    },
    120_000,
  )

  test('are at least 60', () => expect(rows.length).toBeGreaterThanOrEqual(60))
})

describe('while it is read', () => {
  test.runIf(isDeep)('a file that grows without end is read up to a limit', async () => {
    const { use, cwd } = codingTools({ readBytes: 20_000_000 })
    const path = join(cwd, 'f')
    fs.writeFileSync(path, 'one\n'.repeat(1_000_000))
    const writer = spawn('bash', ['-c', `exec yes two >> f`], { cwd, stdio: 'ignore' })
    onTestFinished(() => void writer.kill('SIGKILL'))
    const { text, isError } = await use('Read', { file_path: 'f', offset: 999_990, limit: 5 })
    writer.kill('SIGKILL')
    expect([text.slice(0, 10), isError]).toEqual(['999990\tone', false])
    expect(text.length).toBeLessThan(500)
    expect(await use('Edit', { file_path: 'f', old_string: 'one', new_string: 'x' })).toMatchObject({ isError: true })
  })

  test.each(['gone', 'cut', 'replaced'] as const)(
    'a file that is %s is reported as it was, or as it is',
    async (becomes) => {
      const { use, cwd } = codingTools()
      const path = join(cwd, 'f')
      fs.writeFileSync(path, 'one\n'.repeat(2_000_000))
      const reading = use('Read', { file_path: 'f', limit: 2 })
      await new Promise((resolve) => setTimeout(resolve, 3))
      if (becomes === 'gone') fs.rmSync(path)
      else if (becomes === 'cut') fs.truncateSync(path, 0)
      else fs.renameSync(other(cwd), path)
      const { text } = await reading
      expect(text).toMatch(/^ {5}1\tone\n {5}2\tone|does not exist|exists and is empty|^ {5}1\tother/)
      const edited = await use('Edit', { file_path: 'f', old_string: 'one\none\n', new_string: '', replace_all: true })
      expect([becomes, edited.isError]).toEqual([becomes, true])
    },
  )
})

function other(cwd: string): string {
  fs.writeFileSync(join(cwd, 'g'), 'other\n')
  return join(cwd, 'g')
}

/** Root may do everything. */
function becomeNobody(cwd: string): void {
  if (!isRoot) return
  fs.chmodSync(cwd, 0o777)
  onTestFinished(becomeSomebody)
  process.seteuid?.(65_534)
}

function becomeSomebody(): void {
  if (isRoot && process.geteuid?.() !== 0) process.seteuid?.(0)
}
