import json
import sys
import urllib.request

import requests

url, token = sys.argv[1:]
pan = "{{ %s | json: '$.number' }}" % token
response = requests.post(url, json={"client": "requests", "pan": pan}, timeout=20)
print(response.status_code, response.text)
body = json.dumps({"client": "urllib", "pan": pan}).encode()
request = urllib.request.Request(url, body, {"content-type": "application/json"})
with urllib.request.urlopen(request, timeout=20) as response:
    print(response.status, response.read().decode())
