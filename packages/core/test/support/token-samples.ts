/** Bytes that look random and are the same each time. */
function bytes(count: number): Uint8Array {
  let state = 0x2545f491
  return Uint8Array.from({ length: count }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state & 0xff
  })
}

const hex = (count: number): string => Buffer.from(bytes(count)).toString('hex')
const lines = (count: number, line: (number: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index + 1)).join('\n')

const code = `export function takeFirstOpen(run: Run, routes: readonly Route[]): Outcome | undefined {
  for (const route of routes) {
    const isPaid = lapsLeft(route.transition, run.spent.laps, run.context.limits) > 0
    if (!isPaid) continue
    const taken = route.take(run)
    if (taken !== 'declined') return { kind: 'taken', route, taken }
  }
  return undefined
}
`

/** Texts of each kind, as they occur in conversations with coding agents. */
export const tokenSamples: Readonly<Record<string, string>> = {
  base64: Buffer.from(bytes(1_500)).toString('base64'),
  'base64 in lines': Buffer.from(bytes(1_500)).toString('base64').replaceAll(/.{76}/g, '$&\n'),
  'base64 of a text': Buffer.from(code.repeat(3)).toString('base64'),
  'hexadecimal digits': hex(800),
  ids: lines(30, (number) =>
    hex(16 + number)
      .slice(-32)
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  ),
  Chinese:
    '循环代理在每次迭代之前准备上下文，然后询问模型，接着处理工具调用、检查回答或者恢复。预算在请求之前预留，在请求之后结算。今天天气很好，我们决定去公园散步，看到许多孩子在湖边玩耍。',
  'Chinese, traditional':
    '這個程式在每次迴圈之前準備好上下文，然後詢問模型，並處理工具的呼叫。預算在請求之前保留，之後結算。臺灣的夜市聞名世界，遊客可以品嚐各式各樣的小吃。',
  Japanese:
    'エージェントのループは、各反復の前にコンテキストを準備し、モデルに問い合わせ、ツール呼び出しを処理します。予算はリクエストの前に確保され、後で精算されます。今日はとても良い天気なので、公園へ散歩に行くことにしました。',
  Korean:
    '에이전트 루프는 각 반복 전에 컨텍스트를 준비하고 모델에게 질문한 다음 도구 호출을 처리합니다. 예산은 요청 전에 예약되고 이후에 정산됩니다. 오늘은 날씨가 좋아서 공원으로 산책을 가기로 했습니다.',
  emoji: '😀🎉🚀👍🔥💡✅❌🧪📦🐛✨♻️👩‍💻🏳️‍🌈👨‍👩‍👧‍👦🇩🇪🇯🇵🙌🏽👋🏿'.repeat(4),
  'emoji in a list': lines(30, (number) => `${['✅', '❌', '⚠️', '🚀'][number % 4]} step ${number} of the build`),
  Russian:
    'Цикл агента перед каждой итерацией готовит контекст, спрашивает модель и затем обрабатывает вызовы инструментов. Бюджет резервируется до запроса и рассчитывается после него.',
  Greek:
    'Ο βρόχος του πράκτορα προετοιμάζει το πλαίσιο πριν από κάθε επανάληψη, ρωτά το μοντέλο και επεξεργάζεται τις κλήσεις εργαλείων. Σήμερα ο καιρός είναι καλός.',
  Arabic:
    'تقوم حلقة الوكيل بإعداد السياق قبل كل تكرار، ثم تسأل النموذج وتعالج استدعاءات الأدوات. يتم حجز الميزانية قبل الطلب وتسويتها بعده.',
  Hebrew: 'לולאת הסוכן מכינה את ההקשר לפני כל איטרציה, שואלת את המודל ומטפלת בקריאות לכלים. התקציב נשמר לפני הבקשה.',
  Hindi: 'एजेंट लूप प्रत्येक पुनरावृत्ति से पहले संदर्भ तैयार करता है, मॉडल से पूछता है और फिर टूल कॉल संसाधित करता है।',
  Thai: 'ลูปของเอเจนต์เตรียมบริบทก่อนการวนซ้ำแต่ละครั้ง ถามโมเดล แล้วจัดการการเรียกเครื่องมือ วันนี้อากาศดี',
  German:
    'Die Schleife des Agenten bereitet vor jeder Wiederholung den Kontext vor, fragt das Modell und verarbeitet anschließend die Werkzeugaufrufe. Das Budget wird vor der Anfrage zurückgelegt.',
  French:
    "La boucle de l'agent prépare le contexte avant chaque itération, interroge le modèle, puis traite les appels d'outils. Le budget est réservé avant la requête.",
  English:
    'A model reads the whole conversation with every request, and the size of a request is limited. This page explains what happens when the window fills up, what you see, and what you can set.',
  code,
  'numbered code': lines(9, (number) => `${String(number).padStart(6)}\t${code.split('\n')[number - 1]}`),
  JSON: JSON.stringify(
    Array.from({ length: 8 }, (_, index) => ({
      name: `package-${index}`,
      version: `1.${index}.3`,
      isPrivate: true,
      files: ['dist', 'README.md'],
    })),
    null,
    2,
  ),
  'JSON in one line': JSON.stringify(
    Array.from({ length: 8 }, (_, index) => ({ name: `package-${index}`, version: `1.${index}.3`, isPrivate: true })),
  ),
  numbers: lines(
    60,
    (number) => `${number},${(number * 7919) % 1000}.${(number * 31) % 100},${(number * 104_729) % 1_000_000}`,
  ),
  log: lines(
    30,
    (number) =>
      `2026-11-28T17:${String(number).padStart(2, '0')}:12.${100 + number}Z INFO  [worker-${number % 4}] request ${number} took ${number * 29} ms status=200 path=/api/v1/items/${number}`,
  ),
  'a table':
    '┌──────────┬─────────┐\n│ name     │ value   │\n├──────────┼─────────┤\n│ alpha    │ 12      │\n└──────────┴─────────┘\n'.repeat(
      5,
    ),
}
