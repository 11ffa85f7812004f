import { test } from 'tap'
import { benchesIn } from './avahi.ts'

const heard = `+;eth0;IPv4;benchd\\032on\\032lab-pi-1;_benchd._tcp;local
=;eth0;IPv6;benchd\\032on\\032lab-pi-1;_benchd._tcp;local;lab-pi-1.local;fe80::1;8520;"tls=0" "path=/" "txtvers=1"
=;eth0;IPv4;benchd\\032on\\032lab-pi-1;_benchd._tcp;local;lab-pi-1.local;192.168.4.21;8520;"tls=0" "path=/" "txtvers=1"
=;wlan0;IPv4;benchd\\032on\\032lab-pi-1;_benchd._tcp;local;lab-pi-1.local;192.168.4.21;8520;"tls=0" "path=/" "txtvers=1"
=;eth0;IPv4;Bench\\032\\195\\156ber\\059\\032A\\.1\\\\;_benchd._tcp;local;a1.local;10.0.0.7;8443;"tls=1" "version=0.1.0" "note=a;b"
`

test('a bench that is heard on several interfaces is one, with all its addresses', async (t) => {
  t.same(benchesIn(heard), [
    { name: 'Bench Über; A.1\\', url: 'https://a1.local:8443', addresses: ['10.0.0.7'], port: 8443, version: '0.1.0' },
    {
      name: 'benchd on lab-pi-1',
      url: 'http://lab-pi-1.local:8520',
      addresses: ['fe80::1', '192.168.4.21'],
      port: 8520,
      version: null,
    },
  ])
})

test('what is not resolved, empty or cut off is passed over', async (t) => {
  for (const output of [
    '',
    '\n',
    '+;eth0;IPv4;x;_benchd._tcp;local\n',
    '=;eth0;IPv4;x',
    '=;eth0;IPv4;x;_benchd._tcp;local;x.local;1.2.3.4;port;',
  ])
    t.same(benchesIn(output), [], output)
})
