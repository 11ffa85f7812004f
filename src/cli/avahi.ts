// Parses the output of `avahi-browse --parsable --resolve`: `=;eth0;IPv4;NAME;TYPE;DOMAIN;HOST;ADDRESS;PORT;"TXT" "TXT"`.

type Bench = {
  name: string
  /** Has the name of the computer; `addresses` work without name resolution. */
  url: string
  addresses: string[]
  port: number
  version: string | null
}

/** Returns one bench for each service and port, by name, however many interfaces it was heard on. */
export function benchesIn(output: string): Bench[] {
  const benches = new Map<string, Bench>()
  for (const line of output.split('\n')) {
    // A line that begins with + is not resolved.
    const [sign, , , name = '', , , host = '', address = '', port = '', ...txt] = fields(line)
    if (sign !== '=' || !/^\d+$/.test(port)) continue
    const its = texts(txt.join(';'))
    const key = `${host}:${port}`
    const bench = benches.get(key) ?? {
      name,
      url: `${its.tls === '1' ? 'https' : 'http'}://${host}:${port}`,
      addresses: [],
      port: Number(port),
      version: its.version ?? null,
    }
    if (!bench.addresses.includes(address)) bench.addresses.push(address)
    benches.set(key, bench)
  }
  return [...benches.values()].sort((a, b) => a.name.localeCompare(b.name))
}

/** Splits a line. A semicolon inside a name is escaped as `\;` or `\059`. */
function fields(line: string): string[] {
  return (line.match(/(?:\\.|[^;\\])*(?:;|$)/g) ?? []).map((field, i) => {
    const raw = field.replace(/;$/, '')
    return i < 9 ? unescaped(raw) : raw
  })
}

/** Resolves escapes of three decimal digits, such as `\032` for a space. */
function unescaped(text: string): string {
  const bytes = text.match(/\\\d{3}|\\.|[^\\]/gu) ?? []
  const parts = bytes.map((part) => {
    if (/^\\\d{3}$/.test(part)) return Buffer.from([Number(part.slice(1))])
    return Buffer.from(part.startsWith('\\') ? part.slice(1) : part)
  })
  return Buffer.concat(parts).toString()
}

/** Parses `"txtvers=1" "tls=0"`. */
function texts(txt: string): Record<string, string> {
  const pairs = [...txt.matchAll(/"((?:\\.|[^"\\])*)"/g)].map(([, pair = '']) => {
    const at = pair.indexOf('=')
    return at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
  })
  return Object.fromEntries(pairs)
}
