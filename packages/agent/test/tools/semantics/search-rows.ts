import { refused, type Row, rowsOf } from './row.ts'

const glob = rowsOf('Glob')
const grep = rowsOf('Grep')

const tree = {
  files: {
    'src/a.ts': 'export const one = 1\nexport const two = 2\n',
    'src/b.js': 'one()\n',
    'src/deep/c.ts': 'import { one } from "../a"\n// ONE\n',
    'README.md': 'interface{} and one\n',
  },
}
const ordered = { files: { 'old.txt': 'one\n', 'new.txt': 'one\n' }, made: 'touch -d "2020-01-01" old.txt' }
const many = { made: 'mkdir d; for n in $(seq 120); do echo one > d/$n.txt; done' }

export const searchRows: readonly Row[] = [
  glob('Finds files by a pattern', { pattern: '**/*.ts' }, 'src/a.ts', { given: tree }),
  glob('A pattern without a slash', { pattern: '*.ts' }, 'src/deep/c.ts', {
    given: tree,
    how: 'It holds at any depth, as .gitignore reads it: models mean that more often than the folder alone',
  }),
  glob('A pattern with a slash holds from the folder', { pattern: 'src/*.ts' }, 'src/a.ts', { given: tree }),
  glob('Alternatives in braces', { pattern: 'src/*.{ts,js}' }, 'src/b.js', { given: tree }),
  glob('path is where it looks', { pattern: '*.ts', path: 'src/deep' }, 'src/deep/c.ts', { given: tree }),
  glob(
    'path is left out for the working directory, and is never "null"',
    { pattern: '*.md', path: null },
    'README.md',
    { given: tree, how: 'null is plain: it is taken as left out' },
  ),
  glob('The files changed last come first', { pattern: '*.txt' }, 'new.txt\nold.txt', { given: ordered }),
  glob('100 files at most', { pattern: '*.txt', path: 'd' }, '[100 of 120 files, most recently changed first.', {
    given: many,
  }),
  glob('That nothing fits is no error', { pattern: '*.none' }, 'No files in {cwd} match *.none', { given: tree }),
  glob('A path that is not there is an error', { pattern: '*', path: 'none' }, '{cwd}/none does not exist', {
    ...refused,
  }),
  glob(
    'path is a directory',
    { pattern: '*', path: 'README.md' },
    'path must be a directory, but {cwd}/README.md is a file',
    {
      ...refused,
      given: tree,
    },
  ),
  glob('Patterns may be absolute', { pattern: '{cwd}/src/*.js' }, 'src/b.js', { given: tree }),
  glob('What .gitignore names is found too', { pattern: '*.log' }, 'No files in {cwd} match', {
    given: { files: { '.gitignore': '*.log\n', 'a.log': 'x' } },
    how: 'It is left out, as Grep does: what is built and fetched would bury the rest',
  }),
  glob('Hidden files are found', { pattern: '.env*' }, '.env.example', { given: { files: { '.env.example': 'x' } } }),

  grep('files_with_matches is the mode when nothing is said', { pattern: 'one' }, 'src/b.js', { given: tree }),
  grep(
    'content shows lines with their numbers',
    { pattern: 'one', path: 'src/a.ts', output_mode: 'content' },
    'src/a.ts:1:export const one = 1',
    { given: tree },
  ),
  grep(
    '-n false leaves the numbers out',
    { pattern: 'two', path: 'src/a.ts', output_mode: 'content', '-n': false },
    'src/a.ts:export const two',
    { given: tree },
  ),
  grep('count counts the matches of each file', { pattern: 'export', output_mode: 'count' }, 'src/a.ts:2', {
    given: tree,
  }),
  grep('-i makes case count for nothing', { pattern: 'ONE', '-i': true, path: 'src/a.ts' }, 'src/a.ts', {
    given: tree,
  }),
  grep('Case counts when nothing is said', { pattern: 'ONE' }, 'src/deep/c.ts', { given: tree }),
  grep(
    '-A shows lines behind',
    { pattern: 'one', path: 'src/a.ts', output_mode: 'content', '-A': 1 },
    'src/a.ts-2-export const two',
    { given: tree },
  ),
  grep(
    '-B shows lines before',
    { pattern: 'two', path: 'src/a.ts', output_mode: 'content', '-B': 1 },
    'src/a.ts-1-export const one',
    { given: tree },
  ),
  grep('-C shows lines around', { pattern: 'ONE', output_mode: 'content', '-C': 1 }, 'src/deep/c.ts-1-import', {
    given: tree,
  }),
  grep('glob chooses files', { pattern: 'one', glob: '*.js' }, 'src/b.js', { given: tree }),
  grep('type chooses files', { pattern: 'interface', type: 'md' }, 'README.md', { given: tree }),
  grep('A type that there is not is an error', { pattern: 'one', type: 'none' }, 'unrecognized file type', {
    ...refused,
    given: tree,
  }),
  grep(
    'Literal braces are escaped',
    { pattern: String.raw`interface\{\}`, output_mode: 'content' },
    'README.md:1:interface{}',
    { given: tree },
  ),
  grep('An invalid pattern is an error', { pattern: '(' }, 'Grep failed', { ...refused, given: tree }),
  grep('A pattern stays within a line when nothing is said', { pattern: String.raw`one = 1\nexport` }, 'multiline', {
    ...refused,
    given: tree,
    how: 'Refused, with ripgrep saying what to set: the reference finds nothing',
  }),
  grep('multiline lets patterns span lines', { pattern: 'one.*two', multiline: true }, 'src/a.ts', { given: tree }),
  grep('head_limit bounds what is shown', { pattern: 'one', head_limit: 1 }, '[Only 1 result is shown. For more, ', {
    given: tree,
  }),
  grep('head_limit is 250 when nothing is said, 0 for all', { pattern: 'one', path: 'd' }, 'd/120.txt', {
    given: many,
    how: 'Without it the bound is one of characters , which says when it cuts',
  }),
  grep(
    'offset passes over the first entries',
    { pattern: 'export', path: 'src/a.ts', output_mode: 'content', offset: 1 },
    'src/a.ts:2:export const two',
    { given: tree },
  ),
  grep('The files changed last come first', { pattern: 'one', glob: '*.txt' }, 'new.txt\nold.txt', { given: ordered }),
  grep('That nothing matches is no error', { pattern: 'nothing at all' }, 'No matches for "nothing at all" in {cwd}', {
    given: tree,
  }),
  grep('path is where it looks, a file or a folder', { pattern: 'one', path: 'src/deep' }, 'src/deep/c.ts', {
    given: tree,
  }),
  grep('A path that is not there is an error', { pattern: 'one', path: 'none' }, '{cwd}/none does not exist', refused),
  grep('What .gitignore names is not searched', { pattern: 'one' }, 'No match', {
    given: { files: { '.gitignore': '*.log\n', 'a.log': 'one' } },
  }),
  grep('pattern is required', {}, 'pattern is missing', refused),
]
