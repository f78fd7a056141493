import { gitCommands } from '../../src/shell/grammars/git.ts'
import { grammars } from '../../src/shell/command-effects.ts'
import { optionsOf } from '../../src/shell/read-grammar.ts'
import type { Grammar } from '../../src/shell/effects.ts'

/** A random number generator with a seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Commands that would wait forever. */
const leftOut: ReadonlySet<string> = new Set(['sleep'])
const names = Object.keys(grammars).filter((name) => !leftOut.has(name))
const endless: ReadonlySet<string> = new Set(['-f', '-F', '--follow', '--retry', '--pid', '-s'])

const plainPaths =
  'a.ts b.ts src src/c.ts src/deep/d.ts package.json . ./a.ts src/../a.ts out sub odd Makefile nothing new'.split(' ')
const temptingPaths =
  '../outside/x ../outside ../outside/tree link link/y link/../x out.txt chain src/out.ts tree-out tree-out/x tree-out/tree up up/outside/x to-env to-secret .env secret secret/key .git .git/config to-git kept dangling / /etc/hostname ~/.ssh/id ~ .. ../.. /proc/self/environ /dev/stdin /dev/fd/0 - -- -la --files0-from=zero odd/-la bin ./evil evil paths zero'.split(
    ' ',
  )
const patterns =
  '* *.ts ?.ts src/* .* .e* [ab].ts *.txt */* o* l*/y ../outside/* ../*/x tree-out/* */tree/* {a,b}.ts {a.ts,.env} {../outside/x,a.ts} .{e,g}* s*/*.ts odd/* @(a|b).ts'.split(
    ' ',
  )
const variables = [
  '"$f"',
  '$f',
  '${f}',
  '"${f}"',
  '"$PWD/a.ts"',
  '$PWD/a.ts',
  '"$HOME"',
  '~+',
  '$g',
  '"$f/x"',
  '$f$g',
  '"${f%x}"',
  '${f:-a.ts}',
  '"$@"',
  '$((1+1))',
  '$(echo a.ts)',
  '"$(echo ../outside/x)"',
  '`cat paths`',
  "$'a\\x2ets'",
  "$'..\\x2foutside/x'",
  '"a".ts',
  "a'.'ts",
  'a\\.ts',
  '..\\/outside/x',
  '""',
  "'*'",
  '"$f"/../x',
  '<(cat a.ts)',
]
const texts = [
  'x',
  '1',
  '2',
  '0',
  'one',
  '1,2',
  '%s',
  '%n',
  '%s\\n',
  '-1',
  '+1',
  "'a b'",
  'HEAD',
  'HEAD~1',
  'main',
  'HEAD:a.ts',
  'HEAD:.env',
  ':0:.env',
  'json',
  '%H',
  '%h %G?',
  'always',
  '1k',
  'PATH',
  "'$f'",
  '\\n',
]
/** Output of git in place of a word. */
const outputs = [
  '$(git rev-parse HEAD)',
  '"$(git rev-parse --short HEAD)"',
  '$(git merge-base main HEAD)..HEAD',
  '$(git rev-list -1 HEAD)',
  '$(git log -1 --format=%H)',
  '$(git describe --always)',
  '$(git rev-parse --git-dir)',
  '$(git rev-parse a.ts)',
  '-$(git rev-parse HEAD)',
  '--output=$(git rev-parse HEAD)',
  '--author="$(cat paths)"',
  '$f..HEAD',
]
const assigned = [
  'f=$(git rev-parse HEAD)',
  'BASE=$(git merge-base main HEAD)',
  'f=a.ts',
  'f=../outside/x',
  'f=.env',
  'f=link',
  "f='*'",
  "f='a.ts ../outside/x'",
  'g=src',
  'f=$g',
  'f="$g"/x',
  'f=$(echo .env)',
  'f+=x',
  'LANG=C',
  'TZ=x',
  'TERM=../outside',
  'PATH=bin',
  'IFS=/',
  'GIT_DIR=sub',
  'f=',
  'PAGER=cat',
  'x[0]=1',
  'LC_ALL=C',
  'HOME=..',
  'PWD=..',
  'f=~/.ssh/id',
  'f=src/*',
]
/** Words that are passed through a variable: their expansion depends on their position. */
const carried =
  '~/.ssh/id ~/.ssh/* ~ ~/.ssh "~/.ssh/id" \\~/.ssh/id ~+/.env ~root {~/.ssh/id,a.ts} a=~/.ssh/id x:~/.ssh/id x=y:~/.ssh/id .env ../outside/x out.txt a= a.ts src "$HOME/.ssh/id" "$HOME" ""~/.ssh/id ~/".ssh"/id ~""/.ssh/id \'\'/etc/hostname link/.. -la'.split(
    ' ',
  )
const uses =
  '"$f" "${f}" $f "$f/.ssh/id" "$f"/.ssh/id "$f/id" a="$f" "a=$f" "x:$f" "src/$f" "$g$f" "$g/$f" ../"$f" "$f"x "./$f" "$f/../id" ""$f \'\'"$f" ~"$f" "~$f" "$f$g" {"$f",a.ts} "$f"* a=~/.ssh/id x:~/.ssh/id a+=~/.ssh/id'.split(
    ' ',
  )
const psParts = 'aux axe -ef -e -x e x -eo pid,args args -C sh -u root x 1 -p $$ --sort=pid --forest -L -f -j'.split(
  ' ',
)
const readers = 'cat,tail,head,ls,grep -r .,sed p,sort,cut -c1-,diff a.ts,find,stat,base64,od -c,awk 1'.split(',')
const sinks = [
  '> /dev/null',
  '2> /dev/null',
  '2>&1',
  '&> /dev/null',
  '>&2',
  '> new',
  '>> a.ts',
  '> ../outside/new',
  '> out.txt',
  '> .git/x',
  '< a.ts',
  '< ../outside/x',
  '< .env',
  '< chain',
  '<<< x',
  '<<< "$f"',
  '<<< "$(cat ../outside/x)"',
  '> "$f"',
  '< "$f"',
  '<> a.ts',
  '> dangling',
  '2> new',
  '>| new',
  '0< src/c.ts',
  '> /dev/fd/1',
]
const sedParts = [
  'p',
  'd',
  '1p',
  '$!d',
  '1,2p',
  '/one/p',
  '/one/,/two/d',
  's/one/x/',
  's/one/x/g',
  's,one,x,p',
  's/one/x/w new',
  's/one/id/e',
  'w new',
  'r ../outside/x',
  'r.env',
  'e id',
  '1e',
  '1!G',
  'h',
  'N',
  'y/ab/cd/',
  '{p',
  '}',
  'q',
  '=',
  'l',
  'R paths',
  'W new',
  's/[/]/x/e',
  's/a\\/b/c/',
  ';',
  '\n',
  'bx',
  ':x',
  '#n',
  'F',
  'z',
  's/x/\\n/',
  '\\,one,p',
  '0~2p',
  's|x|y|Iw new',
  'a x',
  'i\\',
  'c x',
]
const awkParts = [
  '{print}',
  '{print $1}',
  'NR==1',
  '1',
  '/one/',
  'BEGIN{',
  '}',
  'END{print s}',
  '{s+=$1}',
  'print > "new"',
  '{print > "new"}',
  '{print | "id"}',
  'system("id")',
  '{getline}',
  'getline x < ".env"',
  'ENVIRON["SECRET_TOKEN"]',
  '$1 > 2',
  '($1>2)',
  '{if(1>0)print}',
  '"}"',
  'print "x>y"',
  ';',
  'close("x")',
  '{print $1,$2}',
  'length',
  '||',
  'printf "%s\\n",$1',
  '{print>$1}',
  'ARGV[1]="../outside/x"',
  'FNR>1',
  '>=',
  '/>/',
  'function f(x){return x}',
  '#',
  '{ print "a" "b" }',
  'substr($0,1)',
  'split($0,a)',
  'RS="x"',
  '@f()',
  'a["x"]',
  'PROCINFO["x"]',
]
const jqParts = [
  '.',
  '.a',
  '.[]',
  'keys',
  '|',
  'length',
  '.name',
  'env',
  '$ENV',
  'env.SECRET_TOKEN',
  'input',
  'inputs',
  'input_filename',
  'import "a" as a;',
  'include "a";',
  '"\\(.)"',
  '{a:1}',
  'map(.)',
  'select(.)',
  'debug',
  '$__loc__',
  'to_entries',
  '@base64',
  '@sh',
  'error',
  'halt',
  '..',
  'def f: .; f',
  'getpath(["a"])',
  'limit(1;.)',
  '"env"',
  '.env',
  '.["env"]',
  '"$ENV"',
  'builtins',
  'now',
  '$__prog_args',
  'get_search_list',
  'modulemeta',
  'splits("a")',
  'ltrimstr("a")',
  '?//',
  'reduce .[] as $x (0;.+1)',
  '"\\(env)"',
  'stderr',
  '.a // "x"',
  'try error catch .',
]

type Random = () => number

/** Generates commands: known programs with words that may trick the judge. */
export class CommandMaker {
  readonly #random: Random

  constructor(seed: number) {
    this.#random = randomFrom(seed)
  }

  next(): string {
    const kind = this.#random()
    if (kind < 0.5) return this.#simple()
    if (kind < 0.55) return this.#carried()
    if (kind < 0.58) return this.#setSomewhere()
    if (kind < 0.62) return `${this.#pick(assigned)}; ${this.#simple()}`
    if (kind < 0.7) return `${this.#simple()} ${this.#pick([';', '&&', '||', '|', '\n', '|&'])} ${this.#simple()}`
    if (kind < 0.76) return `for f in ${this.#some(3, () => this.#operand())}; do ${this.#simple()}; done`
    if (kind < 0.8) return `cd ${this.#operand()} ${this.#pick(['&&', ';'])} ${this.#simple()}`
    if (kind < 0.83)
      return `${this.#pick(['timeout 5', 'nice', 'time', 'command', 'nohup', 'xargs', 'stdbuf -o0', 'builtin', '!', 'env', 'nice -n 1 timeout 5'])} ${this.#simple()}`
    if (kind < 0.86) return `echo ${this.#operand()} | xargs ${this.#simple()}`
    if (kind < 0.89)
      return this.#pick([
        `(${this.#simple()})`,
        `{ ${this.#simple()}; }`,
        `if ${this.#simple()}; then ${this.#simple()}; fi`,
        `x=$(${this.#simple()}); echo "$x"`,
        `echo "$(${this.#simple()})"`,
      ])
    if (kind < 0.92)
      return this.#pick([
        `while IFS= read -r f; do ${this.#simple()}; done < <(${this.#simple()})`,
        `${this.#simple()} | while read -r f; do ${this.#simple()}; done`,
        `case $f in *) ${this.#simple()};; esac`,
        `while read -r f; do ${this.#simple()}; done < ${this.#operand()}`,
        `cat <<E\n${this.#pick(variables)}\nE`,
        `printf -v f ${this.#operand()}; ${this.#simple()}`,
        `read f <<< ${this.#operand()}; ${this.#simple()}`,
        `[[ ${this.#pick(['-f', '-v', '-n', '-nt', '=='])} ${this.#operand()} ]] && ${this.#simple()}`,
      ])
    if (kind < 0.96) return `${this.#pick(assigned)} ${this.#simple()}`
    return `${this.#pick(assigned)}; ${this.#pick(assigned)}; ${this.#simple()} ${this.#pick(sinks)}`
  }

  #simple(): string {
    const kind = this.#random()
    const redirect = this.#random() < 0.12 ? ` ${this.#pick(sinks)}` : ''
    if (kind < 0.2) return this.#git() + redirect
    if (kind < 0.25) return this.#find() + redirect
    if (kind < 0.3)
      return (
        `sed ${this.#pick(['', '-n', '-E', '-e', '-s'])} ${quoted(this.#some(3, () => this.#pick(sedParts), ''))} ${this.#operand()}` +
        redirect
      )
    if (kind < 0.35)
      return (
        `awk ${this.#pick(['', '-F:', '-v f=x'])} ${quoted(this.#some(3, () => this.#pick(awkParts), ' '))} ${this.#operand()}` +
        redirect
      )
    if (kind < 0.4)
      return (
        `jq ${this.#pick(['', '-r', '-n', '-c', '-R'])} ${quoted(this.#some(3, () => this.#pick(jqParts), ' '))} ${this.#operand()}` +
        redirect
      )
    if (kind < 0.44)
      return (
        this.#pick([
          `ps ${this.#some(3, () => this.#pick(psParts))}`,
          `[ ${this.#pick(['-f', '-v', '-n', '!', '-d'])} ${this.#operand()} ]`,
          `test ${this.#operand()} = ${this.#operand()}`,
          `echo ${this.#some(3, () => this.#operand())}`,
          `printf ${this.#pick(texts)} ${this.#operand()}`,
        ]) + redirect
      )
    if (kind < 0.48)
      return (
        this.#pick([
          `xxd ${this.#pick(['', '-p', '-ac', '-c 8', '-c', '-r -p', '-s 1', '-l', '-n', '-ps'])} ${this.#operand()} ${this.#pick(['', this.#operand()])}`,
          `strings ${this.#pick(['', '-n 2', '-n', '-8', '@paths', '-n @paths'])} ${this.#operand()}`,
          `diff <(cat ${this.#operand()}) ${this.#operand()}`,
          `cat <(${this.#pick(['./evil', 'cat paths', 'xargs cat < paths', 'echo x > new'])})`,
          `echo ${this.#operand()} | xargs ${this.#pick(['-n1', '-0', '-d x', '-I%', '-a paths', '-P2 -n 1'])} ${this.#pick(['echo', 'cat', 'basename', 'printf', 'sh -c'])}`,
          `f=${this.#pick(['1', '08', "'a[$(./evil)]'", '$g', 'x'])}; echo $((f ${this.#pick(['+ 1', '++', '= 2', '== 1', '> 0 ? f : g'])}))`,
        ]) + redirect
      )
    const name = this.#pick(names)
    const grammar = grammars[name]
    return grammar === undefined ? name : `${name} ${this.#words(grammar)}${redirect}`
  }

  /** A path that is passed through one variable, or two. */
  #carried(): string {
    const [first, second] = [this.#pick(carried), this.#pick(carried)]
    const use = `${this.#pick(readers)} ${this.#pick(['', '', '< '])}${this.#pick(uses)}`
    return this.#pick([
      `f=${first}; ${use}`,
      `g=${first}; f="$g"; ${use}`,
      `g=${first}; f=${second}; ${use}`,
      `g=${first} f=${second}; ${use}`,
      `for f in ${first} ${second}; do ${use}; done`,
      `for g in ${first}; do for f in ${second}; do ${use}; done; done`,
      `g=${first}; f="$g/.ssh/id"; ${use}`,
      `g=${first}; for f in "$g" ${second}; do ${use}; done`,
    ])
  }

  /** A variable that is set before its use, after it, or not at all. */
  #setSomewhere(): string {
    const [safe, other] = [this.#pick(['f=a.ts', 'f=src', 'f=.', '']), this.#pick(carried)]
    const use = `${this.#pick(readers)} ${this.#pick(['', '', '< '])}${this.#pick(uses)}`
    const before = safe === '' ? '' : `${safe}; `
    return (
      before +
      this.#pick([
        `f=${other} ${use}`,
        `f=${other} :; ${use}`,
        `(f=${other}); ${use}`,
        `(f=${other}; ${use})`,
        `{ f=${other}; }; ${use}`,
        `{ f=${other}; ${use}; }`,
        `if true; then f=${other}; fi; ${use}`,
        `if f=${other}; then ${use}; fi`,
        `true && f=${other}; ${use}`,
        `f=${other} && ${use}`,
        `false || f=${other}; ${use}`,
        `! f=${other}; ${use}`,
        `f=${other} | cat; ${use}`,
        `f=${other} & ${use}`,
        `x=$(f=${other}; ${use}); echo "$x"`,
        `x=$(f=${other}); ${use}`,
        `for f in a.ts; do f=${other}; ${use}; done`,
        `for f in a.ts; do :; done; ${use}`,
        `for f in a.ts ${other}; do :; done; ${use}`,
        `for g in a.ts b.ts; do ${use}; f=${other}; done`,
        `for g in a.ts b.ts; do ${use}; g=${other}; ${this.#pick(readers)} "$g"; done`,
        `for f in a.ts; do for f in ${other}; do :; done; ${use}; done`,
        `for f in ${other}; do ${use}; break; done`,
        `while f=${other}; do ${use}; break; done`,
        `case x in x) f=${other};; esac; ${use}`,
        `: "\${f:=${other}}"; ${use}`,
        `: "\${f=${other}}"; ${use}`,
        `${use} f=${other}; ${use}`,
        `cat <<E > /dev/null; ${use}\n\${f:=${other}}\nE`,
        `cd ${other}; ${use}`,
        `cd ${other} && ${this.#pick(readers)} ${this.#pick(['id', '.ssh/id', 'x', '.env', '../.env', 'a.ts'])}`,
        `f=${other}; cd ${this.#pick(uses)}; ${this.#pick(readers)} ${this.#pick(['id', '.ssh/id', 'x'])}`,
        `f=${other}; echo "$f" | xargs ${this.#pick(readers)}`,
        `printf '%s\\n' ${other} | xargs ${this.#pick(readers)}`,
        `f=${other}; [[ -f "$f" ]] && ${use}`,
        `f=${other}; sed -n p < "$f"`,
        `f=${other}; awk -v g="$f" '{print}' ${this.#pick(uses)}`,
        `f=${other}; find . -samefile "$f" -o -newer "$f"; ${use}`,
        `f=${other}; g=f; ${this.#pick(readers)} "\${!g}"`,
        `f=${other}; ${this.#pick(readers)} "\${f%x}" "\${f##*/}" "\${f/x/y}" "\${f:0}"`,
        `f=(${other}); ${this.#pick(readers)} "\${f[@]}" "$f"`,
        `f[0]=${other}; ${use}`,
        `set -- ${other}; ${this.#pick(readers)} "$1"`,
        `local f=${other}; ${use}`,
        `export f=${other}; ${use}`,
        `f=${other} g=$f; ${this.#pick(readers)} "$g"`,
        `g=$f f=${other}; ${this.#pick(readers)} "$g"`,
      ])
    )
  }

  #words(grammar: Grammar, tempting = 0.12): string {
    const words: string[] = []
    const options = Array.from({ length: Math.floor(this.#random() * 3) }, () => this.#option(grammar))
    // Not all implementations read options behind operands.
    const isLate = this.#random() < 0.2
    if (!isLate) words.push(...options)
    if (grammar.operands[0] === 'text' && this.#random() < 0.8) words.push(this.#pick(texts))
    for (let count = Math.floor(this.#random() * 3); count > 0; count -= 1) words.push(this.#operand(tempting))
    if (isLate) words.push(...options)
    return words.join(' ')
  }

  #option(grammar: Grammar): string {
    const known = [...optionsOf(grammar)].filter(([name]) => !endless.has(name))
    const kind = this.#random()
    const refused = (grammar.refused ?? '').split(' ').filter((name) => name !== '' && !endless.has(name))
    if (kind < 0.05 && refused.length > 0) {
      const name = this.#pick(refused)
      return name.startsWith('--') ? `${name}=${this.#operand()}` : `${name}${this.#pick(['', ' '])}${this.#operand()}`
    }
    const [name, option] = known.length === 0 ? ['-x', { takes: 'nothing', kind: 'text' }] : this.#pick(known)
    const value = option.kind === 'text' ? this.#pick(texts) : this.#operand()
    if (kind < 0.08) return name.slice(0, -1)
    if (kind < 0.1) return `${name}=${value}`
    if (option.takes === 'nothing') return name
    if (option.takes === 'maybe')
      return this.#random() < 0.5 ? name : name.startsWith('--') ? `${name}=${value}` : name + value
    return name.startsWith('--')
      ? `${name}${this.#pick(['=', ' '])}${value}`
      : `${name}${this.#pick(['', ' '])}${value}`
  }

  #git(): string {
    const name = this.#pick(Object.keys(gitCommands))
    const grammar = gitCommands[name]
    const before =
      this.#random() < 0.8
        ? ''
        : this.#pick([
            ' -C src',
            ' -C ..',
            ' -C sub',
            ' --no-pager',
            ' -c core.pager=id',
            ' -c color.ui=false',
            ' -c color.ui=always -c core.fsmonitor=./evil',
            ' -c core.quotePath=../x',
            ' -C link',
            ' --git-dir=.git',
            ' -p',
            ' --literal-pathspecs',
          ])
    const ids = this.#random() < 0.85 ? '' : ` ${this.#pick(outputs)}`
    return grammar === undefined ? 'git' : `git${before} ${name} ${this.#words(grammar)}${ids}`
  }

  #find(): string {
    const tests = [
      '-name "*.ts"',
      '-type f',
      '-maxdepth 1',
      '-print',
      '-ls',
      '-delete',
      '-exec cat {} +',
      '-exec grep -h . {} \\;',
      '-exec uniq {} +',
      '-exec ls -R {} +',
      '-exec cat {} ../outside/x \\;',
      '-exec awk {} \\;',
      '-type d',
      '-type l',
      "-name '('",
      "-name ')'",
      '!',
      "'('",
      "')'",
      ',',
      '-follow',
      '-newer a.ts',
      '-samefile ../outside/x',
      '-fprint new',
      '-printf %p',
      '-L',
      '-empty',
      '! -name x',
      '-quit',
      '-prune',
      '-o',
      '-execdir id \\;',
      '-ok id \\;',
      '-size 0',
      '-path "*x"',
      '-regex .',
      '-files0-from zero',
    ]
    return `find ${this.#random() < 0.7 ? this.#operand() : ''} ${this.#some(3, () => this.#pick(tests))}`
  }

  #operand(tempting = 0.12): string {
    const kind = this.#random()
    if (kind < tempting) return this.#pick(temptingPaths)
    if (kind < tempting + 0.12) return this.#pick(patterns)
    if (kind < tempting + 0.22) return this.#pick(variables)
    const path = this.#pick(plainPaths)
    const way = this.#random()
    return way < 0.8
      ? path
      : way < 0.86
        ? `"${path}"`
        : way < 0.92
          ? `'${path}'`
          : way < 0.96
            ? `./${path}`
            : `${path}/../a.ts`
  }

  #some(most: number, make: () => string, between = ' '): string {
    return Array.from({ length: 1 + Math.floor(this.#random() * most) }, make).join(between)
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
