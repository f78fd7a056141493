// Holds R-EASK-2 of docs/spec: a command that asks does so at any position of a line, and in any wrapper.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { phrasesThatAsk, programsThatAsk } from '../../src/shell/asking-programs.ts'
import { drawn } from '../support/deep.ts'
import { open, outcome, project } from './support.ts'

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

type Wrap = (inner: string) => string

/** Ways to run a simple command from another one; the result is a simple command again. */
const wrappers: readonly Wrap[] = [
  ...(
    'time,nohup,timeout 5,timeout -k 1 5s,nice -n 5,stdbuf -oL,command,xargs,xargs -n 1,env A=1,env -i,exec,setsid,ionice -c 3,flock x,watch,' +
    'strace -f,busybox,coproc,mise exec --,uv run,poetry run,bundle exec,direnv exec .,npm exec --,pnpm exec,npx eslint,dotenv --,make run,A=1,./run.sh'
  )
    .split(',')
    .map(
      (prefix): Wrap =>
        (inner) =>
          `${prefix} ${inner}`,
    ),
  (inner) => `bash -c ${quoted(inner)}`,
  (inner) => `sh -ec ${quoted(inner)}`,
  (inner) => `eval ${quoted(inner)}`,
  (inner) => `nix develop --command ${quoted(inner)}`,
  (inner) => `hyperfine ${quoted(inner)}`,
  (inner) => `find . -exec ${inner} \\;`,
]

/** Ways to place a command in a line. */
const places: readonly Wrap[] = [
  (inner) => inner,
  (inner) => `make && ${inner}`,
  (inner) => `${inner} || true`,
  (inner) => `cat a.ts | ${inner} | tee x`,
  (inner) => `( ${inner} )`,
  (inner) => `{ ${inner}; }`,
  (inner) => `echo "$(${inner})"`,
  (inner) => `x=$(${inner}); make "$x"`,
  (inner) => `if ${inner}; then make; fi`,
  (inner) => `for i in 1 2; do ${inner}; done`,
  (inner) => `while ! ${inner}; do sleep 1; done`,
  (inner) => `f() { ${inner}; }; f`,
  (inner) => `cat <<EOF\n$(${inner})\nEOF`,
  (inner) => `diff <(${inner}) a.ts`,
  (inner) => `make\n${inner}\n`,
  (inner) => `make & ${inner}; wait`,
  (inner) => `trap ${quoted(inner)} EXIT; make`,
  (inner) => `! ${inner}`,
  (inner) => `y=$((z+1)); ${inner}`,
]

// Commands that show the machine run as in other modes if the whole line only reads.
const judged = new Set(['ps', 'pgrep', 'pstree', 'top', 'lsof', 'ss'])
const named = [...programsThatAsk.network, ...programsThatAsk.outside]
  .filter((program) => !judged.has(program))
  .map((program) => `${program} one`)
const phrases = [...phrasesThatAsk('network').values(), ...phrasesThatAsk('outside').values()].flat()
const gits = (
  'push,fetch,stash,checkout main,reset --hard,merge x,rebase x,config a.b c,clean -fd,-C src stash,worktree add x,--no-pager stash pop,-c a.b=c stash,' +
  'restore a.ts,switch main,commit --amend,rm a.ts,apply x,gc,unknown'
)
  .split(',')
  .map((rest) => `git ${rest}`)

test('a command that asks does so in every wrapper and at every position of a line', () => {
  const permissions = open(project())
  fc.assert(
    fc.property(
      fc.oneof(fc.constantFrom(...named), fc.constantFrom(...phrases), fc.constantFrom(...gits)),
      fc.array(fc.constantFrom(...wrappers), { maxLength: 2 }),
      fc.constantFrom(...places),
      (command, around, place) => {
        const line = place(around.reduce((inner, wrap) => wrap(inner), command))
        expect([line, outcome(permissions, line)]).toEqual([line, 'ask'])
      },
    ),
    { numRuns: drawn(6_000) },
  )
})

test('a harmless program runs in the same wrappers, so the wrapper is not what asks', () => {
  const permissions = open(project())
  const quiet = wrappers.filter((wrap) => !/strace|coproc/.test(wrap('x')))
  const outcomes = quiet.map((wrap) => [wrap('make all'), outcome(permissions, wrap('make all'))])
  expect(outcomes.filter(([, is]) => is !== 'edit')).toEqual([])
})
