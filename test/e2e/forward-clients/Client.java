import java.net.Authenticator;
import java.net.HttpURLConnection;
import java.net.PasswordAuthentication;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Posts a token; the key of the proxy is in HTTPS_PROXY, its host and the trust store are in JAVA_TOOL_OPTIONS. */
public class Client {
  public static void main(String[] args) throws Exception {
    String[] user = URI.create(System.getenv("HTTPS_PROXY")).getUserInfo().split(":", 2);
    Authenticator authenticator = new Authenticator() {
      @Override
      protected PasswordAuthentication getPasswordAuthentication() {
        return new PasswordAuthentication(user[0], user[1].toCharArray());
      }
    };
    URI url = URI.create(args[1]);
    String body = "{\"pan\":\"{{ " + args[2] + " }}\"}";
    if (args[0].equals("HttpClient")) {
      HttpClient client = HttpClient.newBuilder().proxy(ProxySelector.getDefault()).authenticator(authenticator).build();
      HttpRequest request = HttpRequest.newBuilder(url).header("Content-Type", "application/json")
          .POST(HttpRequest.BodyPublishers.ofString(body)).build();
      HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
      System.out.println(response.statusCode() + " " + response.version());
    } else {
      Authenticator.setDefault(authenticator);
      HttpURLConnection connection = (HttpURLConnection) url.toURL().openConnection();
      connection.setDoOutput(true);
      connection.setRequestProperty("Content-Type", "application/json");
      connection.getOutputStream().write(body.getBytes());
      System.out.println(connection.getResponseCode());
    }
  }
}
